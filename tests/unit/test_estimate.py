"""The dry run: what is counted, what is assumed, and that nobody is asked."""

import pytest

from drag_graph.distill.cost_estimate import HIGH, LOW, EstimateBasis, Pricing, estimate
from drag_graph.distill.query_distillation import Distillation, Usage
from drag_graph.errors import ModelAccessDenied
from drag_graph.inputs import InputLine, make_query
from drag_graph.ledger import Ledger
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.model_server import Server
from drag_graph.models.teachers.served_teacher import ServedTeacher
from drag_graph.settings import load_settings
from drag_graph.testing.server import Fault, ScriptedServer

PRICING = Pricing(
    lambda _model, messages: sum(len(m["content"].split()) for m in messages), lambda _model, i, o: (i + 2 * o) / 1e6
)

KNOWN = EstimateBasis(LexicalEmbedder())


def of(*texts, pricing=PRICING, known=KNOWN, **flags):
    lines = [InputLine(n, query=make_query(text)) if text else InputLine(n, problem="bad") for n, text in enumerate(texts)]
    return estimate(load_settings(flags), lines, pricing, known)


def test_lean_makes_three_calls_and_paper_many_more_with_more_tokens():
    lean, paper = of("Why is it so?"), of("Why is it so?", plan="paper")
    assert lean["calls"] == 3
    assert paper["calls"] == 2 + 15 + 2
    assert lean["tokens_in"] < 0.4 * paper["tokens_in"]


def test_scores_that_weigh_nothing_are_not_asked_for():
    assert of("Why is it so?", alpha=0.0)["calls"] == 2
    assert of("Why is it so?", alpha=0.0, ranking="rank-sum")["calls"] == 3


def test_each_question_counts_once_and_bad_lines_are_counted_apart():
    one, several = of("Why?"), of("Why?", "why? ", "", "Who?")
    assert (several["queries"], several["rejected"]) == (2, 1)
    assert several["calls"] == 2 * one["calls"]


def test_the_price_has_a_range_and_says_when_it_is_not_known():
    found = of("Why?")
    assert found["price_known"]
    assert found["price_usd_low"] == pytest.approx(found["price_usd"] * LOW, abs=1e-4)
    assert found["price_usd_high"] == pytest.approx(found["price_usd"] * HIGH, abs=1e-4)
    unknown = of("Why?", pricing=Pricing(PRICING.count_tokens, lambda *_: None))
    assert not unknown["price_known"]


def test_a_file_costs_nothing_and_patterns_save_a_call():
    free = of("Why?", pricing=None)
    assert (free["calls"], free["tokens_in"], free["price_usd"]) == (3, 0, 0.0)
    assert of("Why?", extractor="patterns")["calls"] == 2


def test_more_evidence_is_dearer():
    assert of("Why?", number_of_evidence=30)["tokens_out"] > of("Why?", number_of_evidence=5)["tokens_out"]


@pytest.fixture
def recorded(tmp_path):
    """Return a function that distills texts with the scripted server onto a tape, and gives what an estimate knows then."""

    def record(*texts, faults=(), **flags):
        settings = load_settings({"teacher": "scripted", **flags})
        with ScriptedServer() as server, Ledger(tmp_path / "x.ledger") as ledger:
            for stage in faults:
                server.always(stage, lambda _request: Fault(401))
            teacher = ServedTeacher(Server("scripted", base_url=server.url), tape=ledger.tape)
            distillation = Distillation(settings, LexicalEmbedder(), teacher)
            for text in texts:
                try:
                    distillation.distill(make_query(text), Usage())
                except ModelAccessDenied:
                    assert faults
        return EstimateBasis(LexicalEmbedder(), tape=Ledger(tmp_path / "x.ledger").tape)

    return record


def test_what_is_on_the_tape_counts_as_free(recorded):
    known = recorded("Why is it so?")
    found = of("Why is it so?", "Who was it?", known=known, teacher="scripted")
    alone = of("Who was it?", known=known, teacher="scripted")
    assert (found["calls"], found["recorded_calls"]) == (3, 3)
    assert found["tokens_in"] == alone["tokens_in"]


@pytest.mark.parametrize(("stage", "calls"), [("scores", 2), ("triples", 1)])
def test_a_query_is_followed_up_to_the_first_call_that_is_missing(recorded, stage, calls):
    known = recorded("Why is it so?", faults=(stage,))
    found = of("Why is it so?", known=known, teacher="scripted")
    assert (found["calls"], found["recorded_calls"]) == (calls, 3 - calls)
    nothing = of("Why is it so?", teacher="scripted")
    assert 0 < found["tokens_out"] < nothing["tokens_out"]


def test_the_paper_plan_is_followed_within_its_triples(recorded):
    question = "Which gas do green plants take in when they make sugar?"
    known = recorded(question, faults=("statements",), plan="paper")
    all_calls = of(question, plan="paper", teacher="scripted")["calls"]
    found = of(question, known=known, plan="paper", teacher="scripted")
    assert (found["calls"], found["recorded_calls"]) == (1, all_calls - 1)


def test_what_is_stored_under_the_same_settings_counts_as_free():
    settings = load_settings({"teacher": "scripted"})
    query = make_query("Why is it so?")
    hash_ = Distillation(settings, LexicalEmbedder(), _Named()).settings_hash(query)
    known = EstimateBasis(LexicalEmbedder(), stored=lambda _ids: {query.id: hash_})
    found = of("Why is it so?", known=known, teacher="scripted")
    assert (found["stored"], found["calls"], found["price_usd"]) == (1, 0, 0)
    other = of("Why is it so?", known=known, teacher="scripted", number_of_evidence=5)
    assert (other["stored"], other["calls"]) == (0, 3)


def test_what_is_stored_from_a_file_counts_as_stored(tmp_path):
    (tmp_path / "teacher.jsonl").write_text("")
    teacher = f"curated:{tmp_path / 'teacher.jsonl'}"
    settings, query = load_settings({"teacher": teacher}), make_query("Why is it so?")
    fingerprint = f"{teacher}@abc"
    hash_ = Distillation(settings, LexicalEmbedder(), _Named(fingerprint)).settings_hash(query)
    known = EstimateBasis(LexicalEmbedder(), stored=lambda _ids: {query.id: hash_}, fingerprint=fingerprint)
    assert of("Why is it so?", "Who was it?", pricing=None, known=known, teacher=teacher)["stored"] == 1
    changed = EstimateBasis(LexicalEmbedder(), stored=known.stored, fingerprint=f"{teacher}@def")
    assert of("Why is it so?", pricing=None, known=changed, teacher=teacher)["stored"] == 0


class _Named:
    is_model = True

    def __init__(self, fingerprint="scripted"):
        self.name = self.fingerprint = fingerprint


def test_what_a_run_would_not_ask_again_counts_as_free():
    known = EstimateBasis(LexicalEmbedder(), quarantined=lambda entries: {entries[0].query.id})
    found = of("Why is it so?", "Who was it?", known=known)
    assert (found["quarantined"], found["calls"]) == (1, 3)


def test_each_step_and_the_break_even_are_estimated():
    found = of("Why is it so?", "Who was it?")
    assert list(found["steps"]) == ["evidence", "scores", "triples"]
    for name in ("calls", "tokens_in", "tokens_out"):
        assert sum(step[name] for step in found["steps"].values()) == found[name]
    direct = PRICING.price_of("", 7, 2 * 256)
    assert (found["break_even"] - 1) * direct < found["price_usd"] <= found["break_even"] * direct
    free = of("Why?", pricing=None)
    assert (free["steps"], free["break_even"]) == ({}, 0)
