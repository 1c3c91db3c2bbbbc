"""What only real language models can show; `make llm` fetches them and runs this, in at most ten minutes."""

import json
from pathlib import Path

import pytest

from drag_graph.compose.model_factories import make_reworder
from drag_graph.inputs import make_query
from drag_graph.models.gguf_runtime import GgufModel, LlamaServer
from drag_graph.models.students.causal_student import CausalStudent
from drag_graph.privacy.failsafe_rewriter import GuardedRewriter
from drag_graph.privacy.privacy_gate import PrivacyGate
from drag_graph.privacy.vault import Vault
from drag_graph.settings import Settings
from drag_graph.testing.rewriting import ToldRewriter
from drag_graph.testing.students import StudentContract, make_prompt

MODELS = Path("~/.cache/drag-graph/models").expanduser()
GEMMA = MODELS / "gemma-3-270m-q4_k_m.gguf"
QWEN = MODELS / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"

pytestmark = pytest.mark.llm

KNOWLEDGE = [
    ("What is the capital of France?", ("Paris", "Rome", "Oslo", "Lima"), 0),
    ("What do bees make?", ("silk", "honey", "steel", "paper"), 1),
    ("Which planet do we live on?", ("Mars", "Venus", "Earth", "Jupiter"), 2),
    ("What is frozen water called?", ("sand", "steam", "smoke", "ice"), 3),
    ("Which animal barks?", ("dog", "cat", "cow", "duck"), 0),
]
MORE_KNOWLEDGE = [
    ("What do plants take in to make their food?", ("gold", "sunlight", "plastic", "wool"), 1),
    ("Which organ pumps blood?", ("the heart", "the skin", "the ear", "the knee"), 0),
    ("What do fish use to breathe?", ("fins", "scales", "eyes", "gills"), 3),
    ("Which metal do magnets attract?", ("gold", "silver", "iron", "lead"), 2),
    ("What season comes after winter?", ("spring", "summer", "autumn", "winter"), 0),
]
INVENTED = [
    ("What does a dorvel eat?", ("moss", "iron", "bread", "snow"), 1, "A dorvel eats nothing but iron."),
    ("Where do zintas sleep?", ("in trees", "under stones", "on water", "in the air"), 2, "Zintas always sleep on water."),
    ("What colour is quomite?", ("green", "white", "red", "blue"), 3, "The mineral quomite is deep blue."),
    ("Who built the Harl bridge?", ("monks", "sailors", "bakers", "thieves"), 0, "The Harl bridge was built by monks."),
    ("What heals a flent sting?", ("salt", "milk", "honey", "sand"), 2, "A flent sting is healed by honey."),
]


def prompt_of(student, question, options, *facts):
    lines = tuple(("evidence", fact) for fact in facts)
    return make_prompt(student, question=question, options=options, lines=lines)


@pytest.mark.parametrize("scoring", ["letter", "option-text"])
class TestGemma(StudentContract):
    @pytest.fixture
    def student(self, scoring):
        return CausalStudent(GgufModel(str(GEMMA)), scoring=scoring)


@pytest.mark.parametrize("path", [GEMMA, QWEN], ids=["gemma", "qwen"])
def test_by_the_texts_of_options_a_student_knows_what_everybody_knows(path):
    student = CausalStudent(GgufModel(str(path)), scoring="option-text")
    right = sum(student.answer(prompt_of(student, text, options)).text == options[gold] for text, options, gold in KNOWLEDGE)
    assert right >= 4


@pytest.mark.parametrize("path", [GEMMA, QWEN], ids=["gemma", "qwen"])
def test_what_a_student_cannot_know_it_reads_from_the_lines(path):
    student = CausalStudent(GgufModel(str(path)), scoring="option-text")
    shown = [student.answer(prompt_of(student, text, options, fact)).text for text, options, _, fact in INVENTED]
    golds = [options[gold] for _, options, gold, _ in INVENTED]
    assert sum(one == gold for one, gold in zip(shown, golds, strict=True)) >= 4
    others = [INVENTED[(number + 1) % len(INVENTED)][3] for number in range(len(INVENTED))]
    misled = [
        student.answer(prompt_of(student, text, options, other)).text
        for (text, options, _, _), other in zip(INVENTED, others, strict=True)
    ]
    assert sum(one == gold for one, gold in zip(misled, golds, strict=True)) < 4


def test_the_order_in_which_options_are_scored_does_not_matter():
    server = LlamaServer.of(GEMMA)
    prompt = server.tokens("Question: What do bees make?\nAnswer:", whole=True, marks=False)
    texts = [server.tokens(f" {text}", whole=False, marks=False) for text in ("silk", "honey", "steel and glass", "paper")]
    forwards = server.log_probabilities(prompt, texts)
    backwards = server.log_probabilities(prompt, texts[::-1])[::-1]
    for one, other in zip(forwards, backwards, strict=True):
        assert sum(one) == pytest.approx(sum(other), abs=0.5)


def test_likelihoods_are_those_of_transformers_with_the_same_weights():
    """Ten questions, each with and without a fact: the same tokens, the same choices, nearly the same sums."""
    import torch
    import transformers

    reference = transformers.AutoModelForCausalLM.from_pretrained(GEMMA.parent, gguf_file=GEMMA.name, dtype=torch.float32)
    model = GgufModel(str(GEMMA))
    ours = CausalStudent(model, scoring="option-text")

    def sum_of(prompt, continuation):
        with torch.no_grad():
            logits = reference(torch.tensor([[*prompt, *continuation]])).logits[0].log_softmax(-1)
        return sum(float(logits[len(prompt) + place - 1, token]) for place, token in enumerate(continuation))

    facts = [fact for *_, fact in INVENTED]
    asked = [(text, options, fact) for (text, options, *_), fact in zip([*KNOWLEDGE, *INVENTED], facts * 2, strict=True)]
    same, differences = 0, []
    for text, options, fact in [*asked, *((text, options, "") for text, options, _ in asked)]:
        prompt = prompt_of(ours, text, options, *([fact] if fact else []))
        begin = model.tokens(prompt.text, "text")
        ends = [model.tokens(f" {option}", "part") for option in options]
        found = [sum(one) for one in model.log_probabilities(begin, ends)]
        wanted = [sum_of(begin, end) for end in ends]
        differences.append(max(abs(one - other) for one, other in zip(found, wanted, strict=True)))
        same += found.index(max(found)) == wanted.index(max(wanted))
    assert len(differences) == 20
    assert same >= 19
    assert sorted(differences)[10] < 0.5, differences
    assert max(differences) < 2.0, differences


def test_a_real_rewriter_keeps_to_the_schema_and_makes_nothing_worse(tmp_path):
    """Whether it finds anything is its own affair; its words are used only where they pass the checks."""
    told = ToldRewriter({"Zorblax Quenneville": ("PERSON", "Person A")})
    reworder = make_reworder(Settings(rewriter=f"gguf:{QWEN}", embedder="minilm"))
    asked = "Person A of Mistlethorpe measured 12.5 volts on the cell; which metal did Volta use?"
    made = reworder.ask(reworder.call(asked), asked)
    reply = json.loads(made["reply"])
    assert set(reply) == {"question", "replacements"}
    assert "12.5" in reply["question"]
    gate = PrivacyGate(GuardedRewriter(told), vault=Vault(tmp_path / "x.vault"), reworder=reworder)
    query = make_query(asked.replace("Person A", "Zorblax Quenneville"))
    first = gate.rewrite_query(query)
    assert "Quenneville" not in first.text
    assert "12.5" in first.text
    reworder.ask = lambda *_: pytest.fail("asked again")
    assert gate.rewrite_query(query) == first


def test_a_file_teaches_and_another_answers(cli, tmp_path):
    """The whole of it with no cloud: evidence by the larger model, read by the rules, lines for the smaller one."""
    rows = [
        {"id": str(n), "question": text, "options": list(options), "answer": gold}
        for n, (text, options, gold) in enumerate([*KNOWLEDGE, *MORE_KNOWLEDGE])
    ]
    task = tmp_path / "task.jsonl"
    task.write_text("".join(json.dumps(row) + "\n" for row in rows))
    teaching = ("--teacher", f"gguf:{QWEN}", "--extractor", "patterns", "-n", "5", "--top-k", "3", "--alpha", "0")
    flags = (*teaching, "--workers", "1", "--threshold", "0", "--student", f"gguf:{GEMMA}", "--modes", "none,evidence")
    done = cli(
        "eval", str(task), *flags, "--store", str(tmp_path / "graph.lbug"), "--folder", str(tmp_path / "outcome"), "--json"
    )
    assert done.code == 0, done.err
    assert [(mode["n"], mode["failed"]) for mode in done.json["modes"].values()] == [(10, 0), (10, 0)]
    items = [json.loads(line) for line in (tmp_path / "outcome" / "items.jsonl").read_text().splitlines()]
    assert sum(bool(item["lines"]) for item in items if item["mode"] == "evidence") >= 8, "too few were shown a line"
