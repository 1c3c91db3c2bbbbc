"""The privacy gate: what it lets in and out, and that nothing passes where a detector is broken (mutations of the gate)."""

import base64
import json
import subprocess
import sys
import threading
import time
import unicodedata
from functools import partial
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from drag_graph.errors import ConfigurationError, Withheld
from drag_graph.inputs import InputLine, make_query
from drag_graph.models.chat_client import complete
from drag_graph.models.locality import is_local
from drag_graph.models.model_server import Server
from drag_graph.ports.private_details import Finding, Kept, Rewritten
from drag_graph.ports.question_gate import WITHHELD
from drag_graph.privacy import failsafe_rewriter as guarded
from drag_graph.privacy.failsafe_rewriter import GuardedRewriter
from drag_graph.privacy.gate_reports import preview, preview_totals
from drag_graph.privacy.privacy_gate import PrivacyGate
from drag_graph.privacy.spans import Pattern
from drag_graph.privacy.vault import Vault
from drag_graph.report.privacy_views import privacy_page
from drag_graph.testing.rewriting import ToldRewriter

NAME, TOWN = "Zorblax Quenneville", "Grimsthorpe"
TOLD = {NAME: ("PERSON", "Person A"), TOWN: ("PLACE", "a town in England")}
QUESTION = f"A nurse from {TOWN} named {NAME} has a fever; whom should she ask?"
OPTIONS = ("a doctor", f"the aunt of {NAME}")


def gate_of(rewriter=None, **options):
    return PrivacyGate(GuardedRewriter(rewriter or ToldRewriter(TOLD), **options))


def the_query(**fields):
    return make_query(QUESTION, list(OPTIONS), input_id=f"{NAME}-1", metadata={"note": NAME}, **fields)


def test_what_is_asked_is_the_rewritten_text_under_an_id_of_its_own():
    asked = gate_of().rewrite_query(the_query(answer=1))
    assert asked.text == "A nurse from a town in England named Person A has a fever; whom should she ask?"
    assert asked.options == ("a doctor", "the aunt of Person A")
    assert asked.id == make_query(asked.text, list(asked.options)).id != the_query().id
    assert (asked.gold, asked.input_id, asked.metadata) == (1, "", {})


def test_of_a_line_that_says_the_asked_text_the_rest_stays_behind_too(tmp_path):
    vault = Vault(tmp_path / "of.vault")
    gate = PrivacyGate(GuardedRewriter(ToldRewriter(TOLD)), vault=vault)
    asked = gate.rewrite_query(the_query())
    again = make_query(asked.text, list(asked.options), input_id=f"{NAME}-2", metadata={"note": NAME}, answer=1)
    assert gate.rewrite_query(again) == asked.model_copy(update={"gold": 1})
    assert vault.ids("default", f"{NAME}-2") == {asked.id}


@pytest.mark.parametrize("question", ["Меня зовут Иван Петров. Что такое ДНК?", "我叫王小明，什么是DNA？"])
def test_a_question_that_the_detectors_cannot_read_is_withheld(question):
    gate = gate_of()
    admission = gate.pass_through(make_query(question))
    assert admission.asked is None
    assert "not in Latin letters" in admission.why
    assert gate.is_unfiltered(make_query(question))
    with pytest.raises(Withheld, match="not in Latin letters"):
        gate.generalised(question)


@pytest.mark.parametrize(
    "question", ["Is my neighbour Олена Гавриляк older than 王小明?", "α + β = ?", "2 + 2 = ?", "Ｗｈａｔ is ΔG?"]
)
def test_a_question_with_other_letters_and_signs_in_it_is_asked(question):
    assert gate_of().pass_through(make_query(question)).asked is not None


def test_an_original_written_as_html_is_known_again():
    gate = gate_of(ToldRewriter({"Zorblax&nbsp;Quenneville": ("PERSON", "Person A")}))
    gate.rewrite_query(make_query("Is Zorblax&nbsp;Quenneville ill?"))
    with pytest.raises(Withheld):
        gate.outgoing([f"{NAME} is ill."])


def test_a_stored_question_is_unfiltered_where_the_gate_would_change_it_now(tmp_path):
    gate = PrivacyGate(GuardedRewriter(ToldRewriter(TOLD)), vault=Vault(tmp_path / "of.vault"))
    asked = gate.rewrite_query(the_query())
    assert gate.is_unfiltered(the_query())
    assert not gate.is_unfiltered(asked)
    assert not gate.is_unfiltered(make_query("What is rust?"))


def test_a_right_answer_in_words_stays_behind():
    assert gate_of().rewrite_query(make_query("Who is it?", answer=[NAME, "nobody"])).gold is None


def test_a_line_that_is_withheld_keeps_nothing_of_its_text():
    rewriter = ToldRewriter(TOLD)
    gate = gate_of(rewriter)
    rewriter.rewrite = announced
    (line,) = gate.admit([InputLine(3, the_query())])
    assert line.withheld.startswith("privacy: ")
    assert (line.number, line.query.text, line.query.options) == (3, WITHHELD, ())
    assert "Quenneville" not in repr(line)


def hang(*_):
    time.sleep(60)


def fail(*_):
    raise ValueError(f"cannot read {NAME}")


def leave(*_):
    raise SystemExit(NAME)


def same(question, options):
    return Rewritten(question, tuple(options), (), ())


def announced(question, options):
    return Rewritten(question, tuple(options), ToldRewriter(TOLD).rewrite(question, options).findings, ())


def nowhere(question, options):
    finding = Finding("question", 5, 5_000, "PERSON", "broken", "Person A")
    return Rewritten("Person A", tuple(options), (finding,), ())


BROKEN_REWRITES = {
    "hangs": hang,
    "raises": fail,
    "ends": leave,
    "says nothing": lambda *_: None,
    "says text": lambda question, options: question,
    "finds and does not replace": announced,
    "is blind": same,
    "is empty": lambda _question, options: Rewritten(" ", tuple(options), (), ()),
    "loses an option": lambda question, options: Rewritten("What?", tuple(options[1:]), (), ()),
    "changes without a finding": lambda _question, options: Rewritten("What?", tuple(options), (), ()),
    "finds nowhere": nowhere,
    "makes options equal": lambda question, options: Rewritten(
        question,
        tuple("x" for _ in options),
        tuple(Finding(f"option:{place}", 0, 1, "PERSON", "broken", "x") for place in range(len(options))),
        (),
    ),
}


@pytest.mark.parametrize("broken", BROKEN_REWRITES.values(), ids=BROKEN_REWRITES)
def test_nothing_passes_where_the_rewriter_is_broken(broken):
    rewriter = ToldRewriter(TOLD)
    gate = gate_of(rewriter, deadline=0.2)
    rewriter.rewrite = broken
    with pytest.raises(Withheld) as stopped:
        gate.rewrite_query(the_query())
    assert "Quenneville" not in f"{stopped.value!r}{stopped.value.__cause__!r}{stopped.value.hint}"


BROKEN_DETECTORS = {
    "hangs": hang,
    "raises": fail,
    "ends": leave,
    "says nothing": lambda *_: None,
    "says true": lambda _text: True,
    "says texts": lambda _text: ["EMAIL"],
    "finds nowhere": lambda text: [Finding("", 0, len(text) + 1, "EMAIL", "broken", "")],
}


@pytest.mark.parametrize("name", ["structured", "private"])
@pytest.mark.parametrize("broken", BROKEN_DETECTORS.values(), ids=BROKEN_DETECTORS)
def test_nothing_passes_where_a_detector_is_broken(name, broken):
    rewriter = ToldRewriter(TOLD)
    gate = gate_of(rewriter, deadline=0.2)
    setattr(rewriter, name, broken)
    with pytest.raises(Withheld, match="privacy: a detector") as stopped:
        gate.rewrite_query(make_query("Why is the sky blue?"))
    assert "Quenneville" not in str(stopped.value)
    if name == "structured":
        with pytest.raises(Withheld):
            gate.outgoing({"messages": [{"role": "user", "content": "Why is the sky blue?"}]})


@pytest.mark.parametrize("name", ["rewrite", "structured", "private"])
@pytest.mark.parametrize("broken", [fail, lambda *_: None, lambda *_: [], same], ids=["raises", "nothing", "blind", "same"])
def test_a_gate_that_sees_nothing_is_not_opened(name, broken):
    rewriter = ToldRewriter(TOLD)
    setattr(rewriter, name, broken)
    with pytest.raises(ConfigurationError, match="The privacy gate does not work"):
        gate_of(rewriter)


def test_a_detector_that_hangs_holds_nobody_up():
    began = time.monotonic()
    rewriter = ToldRewriter(TOLD)
    gate = gate_of(rewriter, deadline=0.1)
    rewriter.structured = hang
    with pytest.raises(Withheld, match="in time"):
        gate.outgoing({"input": ["text"]})
    assert time.monotonic() - began < 5


ENDLESS = Pattern(r"^(?:a|aa|(?:aaa)+)*\bq", limit=0.8)
"""Takes longer than anybody waits, with every letter."""
ENDLESS_TEXT = "a" * 60 + "cq"


def test_a_pattern_that_never_ends_holds_nobody_up_and_gives_up_itself():
    rewriter = ToldRewriter(TOLD)
    gate = gate_of(rewriter, deadline=0.2)
    sound, ended = rewriter.rewrite, threading.Event()

    def endless(question, options):
        try:
            ENDLESS.search(ENDLESS_TEXT)
        except TimeoutError:
            ended.set()
            raise
        return sound(question, options)

    rewriter.rewrite = endless
    with pytest.raises(Withheld, match="in time"):
        gate.rewrite_query(the_query())
    assert not ended.is_set()
    rewriter.rewrite = sound
    assert gate.rewrite_query(the_query()).options[1] == "the aunt of Person A", "others are held up"
    assert ended.wait(60)


def test_every_pattern_of_a_rule_gives_up_in_time():
    for name in (
        "addresses",
        "detect",
        "generalise",
        "labelled",
        "question_text",
        "people",
        "personal",
        "public_names",
        "structured",
    ):
        source = (Path(guarded.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
        assert "Pattern(" in source
        assert "regex.compile" not in source
        assert "re.compile" not in source


ENCODINGS = {
    "plain": lambda text: text,
    "upper case": str.upper,
    "over lines": lambda text: text.replace(" ", "\n  "),
    "json": lambda text: json.dumps({"said": text}),
    "json twice": lambda text: json.dumps(json.dumps({"said": text})),
    "escaped": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "url": quote,
    "form": quote_plus,
    "every byte": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "base64": lambda text: base64.b64encode(f"so {text} is".encode()).decode(),
    "base64 of urls": lambda text: base64.urlsafe_b64encode(f"??>>{text}".encode()).decode(),
    "base64 in a word": lambda text: "x" + base64.b64encode(text.encode()).decode(),
    "wide letters": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "signs and accents apart": partial(unicodedata.normalize, "NFD"),
    "broken at the end of a line": lambda text: text[:2] + "\u00ad" + text[2:],
    "url of base64": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
}


@pytest.mark.parametrize("name", [NAME, "Žofie Nováková", "王小明"])
def test_an_original_does_not_leave_in_any_form(name):
    gate = gate_of(ToldRewriter({name: ("PERSON", "Person A")}))
    gate.rewrite_query(make_query(f"What ails {name} today?"))
    gate.outgoing({"messages": [{"role": "user", "content": "What ails Person A today?"}]})
    for encode in ENCODINGS.values():
        _stops(gate, encode, name)


def _stops(gate, encode, name):
    for call in (
        {"messages": [{"role": "user", "content": f"It is about {encode(name)}, you know."}]},
        {"input": ["something else", encode(name)]},
        {"file": ("requests.jsonl", json.dumps({"body": {"x": [encode(name)]}}).encode() + b"\n{}\n", "text")},
        {"file": (f"{encode(name)}.jsonl", b"{}", "text")},
        {"metadata": {encode(name): 1}},
    ):
        with pytest.raises(Withheld, match="original"):
            gate.outgoing(call)


def test_a_check_knows_the_originals_that_another_gate_has_stored_since(tmp_path):
    path = tmp_path / "of.vault"
    first, second = (PrivacyGate(GuardedRewriter(ToldRewriter(TOLD)), vault=Vault(path)) for _ in range(2))
    call = {"input": [f"{NAME} has a fever."]}
    second.outgoing(call)
    asked = first.rewrite_query(the_query())
    with pytest.raises(Withheld, match="original"):
        second.outgoing(call)
    Vault(path).erase([asked.id])
    first.rewrite_query(make_query("Does Ysolde Marchbanks cough?"))  # nothing is replaced, so nothing is stored
    other = PrivacyGate(GuardedRewriter(ToldRewriter({"Ysolde Marchbanks": ("PERSON", "Person A")})), vault=Vault(path))
    other.rewrite_query(make_query("Does Ysolde Marchbanks cough?"))
    with pytest.raises(Withheld, match="original"):
        second.outgoing({"input": ["Ysolde Marchbanks coughs."]})


STORE_AN_ORIGINAL = """
import sys
from pathlib import Path
from drag_graph.ports.private_details import Finding
from drag_graph.privacy.vault import Original, Vault

finding = Finding("question", 4, 23, "PERSON", "rule", "Person A")
original = Original("Has Zorblax Quenneville a cold?", (), (finding,))
Vault(Path(sys.argv[1])).keep("id", "default", original, "strict")
"""


def test_a_check_knows_the_originals_of_another_process_and_its_new_vault(tmp_path):
    path = tmp_path / "of.vault"
    gate = PrivacyGate(GuardedRewriter(ToldRewriter({})), vault=Vault(path), keeps=False)
    gate.outgoing({"input": [NAME]})
    assert not path.exists()
    subprocess.run([sys.executable, "-c", STORE_AN_ORIGINAL, str(path)], check=True)
    with pytest.raises(Withheld, match="original"):
        gate.outgoing({"input": [NAME]})


def test_a_town_stops_only_what_says_it_as_the_question_did():
    gate = gate_of()
    gate.rewrite_query(the_query())
    gate.outgoing({"input": [f"{TOWN} is a village in Lincolnshire."]})
    with pytest.raises(Withheld, match="original"):
        gate.outgoing({"input": [f"A nurse from {TOWN} named Zorblax."]})


def test_an_age_in_one_question_does_not_stop_another_of_that_age():
    gate = gate_of(ToldRewriter({"54": ("AGE", "50 to 59"), NAME: ("PERSON", "Person A")}))
    gate.rewrite_query(make_query(f"A 54-year-old man named {NAME} coughs; why does the 54-year-old man cough?"))
    gate.outgoing({"input": ["A 54-year-old woman sneezes. Why? So does a 54-year-old dog."]})
    with pytest.raises(Withheld, match="original"):
        gate.outgoing({"input": ["tell me why does the 54-year-old man cough"]})


def test_kinds_of_a_telling_form_do_not_leave_whoever_wrote_them_but_for_what_was_kept():
    class Keeping(ToldRewriter):
        def rewrite(self, question, options):
            found = super().rewrite(question, options)
            where = question.find("info@example.com")
            if where < 0:
                return found
            return Rewritten(question, tuple(options), (), (Kept("question", where, where + 16, "EMAIL", "told", "public"),))

    gate = gate_of(Keeping(TOLD))
    with pytest.raises(Withheld, match="EMAIL"):
        gate.outgoing({"input": ["write to info@example.com"]})
    assert gate.rewrite_query(make_query("Is info@example.com an address?")).text == "Is info@example.com an address?"
    gate.outgoing({"input": ["write to info@example.com"]})
    with pytest.raises(Withheld, match="EMAIL") as stopped:
        gate.outgoing({"input": ["write to jane.roe@example.com"]})
    assert "jane" not in str(stopped.value)


def test_a_key_is_not_taken_for_a_detail():
    gate_of().outgoing(
        {"api_key": "a@b.org", "api_base": "https://a@b.org/v1", "model": "x", "max_tokens": 5, "temperature": 0.0}
    )


def test_threads_share_a_gate():
    gate, wrong = gate_of(), []

    def work(number):
        text = gate.rewrite_query(make_query(f"{number}: {QUESTION}")).text
        if "Quenneville" in text or not text.startswith(f"{number}: "):
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_is_looked_at_before_says_all_of_each_question():
    gate = gate_of()
    found = list(
        preview(gate, [InputLine(1, the_query()), InputLine(2, problem="bad"), InputLine(3, make_query("Why?"))], why=True)
    )
    first, second = found
    assert (first["line"], first["original"], first["options"]) == (1, QUESTION, list(OPTIONS))
    assert first["id"] == gate.rewrite_query(the_query()).id
    for item in first["findings"]:
        text = QUESTION if item["field"] == "question" else OPTIONS[int(item["field"].partition(":")[2])]
        assert TOLD[text[item["start"] : item["end"]]] == (item["type"], item["replacement"])
    assert [item["field"] for item in first["findings"]] == ["question", "question", "option:1"]
    assert (second["outgoing"], second["findings"], second["refused"], second["why"]) == ("Why?", [], False, "")
    counts = preview_totals(found, 1)
    assert counts == {"queries": 2, "changed": 1, "refused": 0, "rejected": 1, "findings": {"PERSON": 2, "PLACE": 1}}
    page = privacy_page({"queries": found, "totals": counts})
    assert f"<mark>{NAME}</mark>" in page
    assert "the aunt of Person A" in page


AT_HOME = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("model", "address", "environment", "expected"),
    [
        ("any", AT_HOME, {}, True),
        ("any", "http://localhost:8000/v1", {}, True),
        ("any", "http://[::1]:8000/v1", {}, True),
        ("any", "http://127.0.0.1.example.org/v1", {}, False),
        ("any", "https://api.example.org/v1", {}, False),
        ("gpt-4o-mini", "", {}, False),
        ("ollama/llama3.2", "", {}, True),
        ("ollama_chat/llama3.2", "", {"OLLAMA_API_BASE": "http://gpu.example.org:11434"}, False),
        ("ollama/llama3.2", "", {"OLLAMA_API_BASE": "http://localhost:9"}, True),
        ("any", AT_HOME, {"http_proxy": "http://proxy.example.org:3128"}, False),
        ("ollama/llama3.2", "", {"all_proxy": "http://proxy.example.org:3128"}, False),
        ("any", AT_HOME, {"http_proxy": "http://proxy.example.org:3128", "no_proxy": "localhost,127.0.0.1"}, True),
        ("any", AT_HOME, {"https_proxy": "http://proxy.example.org:3128"}, True),
    ],
)
def test_what_is_on_this_machine(monkeypatch, model, address, environment, expected):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "OLLAMA_API_BASE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_local(model, address) is expected


def test_without_a_gate_nothing_leaves():
    with pytest.raises(ConfigurationError, match="no privacy gate"):
        complete(Server("gpt-4o-mini", "http://127.1:9/v1"), [{"role": "user", "content": "Why?"}])
