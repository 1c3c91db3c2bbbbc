import pytest

from drag_graph.distill import merged_statements as statements
from drag_graph.distill import triple_extraction as step
from drag_graph.model import SimpleEdge
from drag_graph.ports.teacher_replies import TriplesReply
from tests.unit.step_builders import evidence, query, reply


def triple(subject="plants", predicate="absorb", object_="carbon dioxide", confidence=0.9, evidence=(0,), **more):
    ends = {"subject": subject, "predicate": predicate, "object": object_}
    return {**ends, "confidence": confidence, "evidence": list(evidence), **more}


ABOUT = "Plants absorb carbon dioxide and water."


def test_lean_asks_once_about_the_kept_evidence_best_first():
    items = evidence(["worst", "gone", "best"])
    items = (
        items[0].model_copy(update={"rank": 1}),
        items[1].model_copy(update={"kept": False, "reason": "gone"}),
        items[2].model_copy(update={"rank": 0}),
    )
    (batch,) = step.batches(items)
    asked = step.request(query(), batch)
    assert asked.texts == ("best", "worst")
    assert asked.messages[1]["content"] == "0. best\n1. worst"
    assert asked.schema is TriplesReply
    assert step.batches(items[1:2]) == ()


def test_paper_asks_about_each_evidence_with_the_question():
    batches = step.batches(evidence(["one", "two"]), "paper")
    assert [len(batch) for batch in batches] == [1, 1]
    asked = step.request(query(), batches[1], "paper")
    assert asked.texts == ("two",)
    assert "Which gas do plants take in?" in asked.messages[1]["content"]
    assert "carbon dioxide" not in step.request(query(), batches[1], "paper", blind=True).messages[1]["content"]


def test_a_triple_of_two_evidence_becomes_two():
    about = evidence([ABOUT, f"In short: {ABOUT}"])
    got = step.read(reply("triples", [triple(evidence=[0, 1, 1], subject_type="concept")]), about)
    assert [raw.evidence_id for raw in got.triples] == ["e0", "e1"]
    assert {raw.call_id for raw in got.triples} == {"call-1"}
    assert got.triples[0].subject_type == "concept"
    assert got.discarded == ()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (triple(evidence=[5]), "there is no evidence 5"),
        (triple(subject=" -- "), "the subject is empty"),
        (triple(object_="'...'"), "the object is empty"),
        (triple(predicate="->"), "the predicate is empty"),
        (triple(subject="'carbon dioxide'"), "subject and object are the same"),
        (triple(object_="x" * 201), "the object has 201 characters"),
        (triple(predicate="y" * 121), "the predicate has 121 characters"),
        (triple(confidence=7), "confidence"),
        (triple(confidence="high"), "confidence"),
        (triple(subject=""), "subject"),
        (triple(evidence=[]), "evidence"),
    ],
)
def test_what_is_unusable_is_discarded_with_its_reason_and_the_rest_is_read(bad, reason):
    got = step.read(reply("triples", [bad, triple()]), evidence([ABOUT]))
    assert len(got.triples) == 1
    assert len(got.discarded) == 1
    assert reason in got.discarded[0]


def test_extractions_add_up():
    one = step.read(reply("triples", [triple()]), evidence([ABOUT]))
    two = step.read(reply("triples", [triple(evidence=[3]), triple(object_="water")]), evidence([ABOUT]))
    both = one + two
    assert len(both.triples) == 2
    assert len(both.discarded) == 1


def test_patterns_give_triples_and_the_record_of_a_free_call():
    items = evidence(["Plants absorb carbon dioxide.", "Nobody reads this."])
    items = (items[0], items[1].model_copy(update={"kept": False, "reason": "no"}))
    got, call = step.from_patterns(query(), items, "2026-01-01T00:00:00+00:00")
    assert [(raw.subject, raw.object) for raw in got.triples] == [("Plants", "carbon dioxide")]
    assert {raw.call_id for raw in got.triples} == {call.id}
    assert (call.stage, call.model, call.cost_usd, call.tokens_in, call.tokens_out) == ("triples", "patterns/3", 0.0, 0, 0)
    again = step.from_patterns(query(), items, "2027-01-01T00:00:00+00:00")[1]
    assert again.model_copy(update={"created_at": call.created_at}) == call
    other = step.from_patterns(query(), evidence(["Plants absorb water."]))[1]
    assert other.id != call.id
    assert other.request_sha256 != call.request_sha256


def edge(id_, support, rank):
    return SimpleEdge(
        id=id_, source_id="q", subject_id="a", subject="nymphs", object_id="b", object="adults", statement=f"statement {id_}",
        predicates=("p",), confidence=0.9, support=support, triple_ids=("t1",), evidence_ids=("e0",), rank=rank,
    )  # fmt: skip


def test_only_edges_of_several_triples_are_merged_into_one_sentence():
    several = statements.mergeable([edge("x", 1, 0), edge("y", 2, 2), edge("z", 3, 1)])
    assert [one.id for one in several] == ["z", "y"]
    asked = statements.request(query(), several, [])
    assert "Make one short sentence of each line" in asked.messages[0]["content"]
    assert asked.messages[1]["content"] == "0. statement z\n1. statement y"
    answers = [{"pair": 1, "statement": "both  in one"}, {"pair": 1, "statement": "again"}, {"pair": 9, "statement": "none"}]
    merged, discarded = statements.read(reply("statements", answers), several)
    assert merged == {"y": "both in one"}
    assert len(discarded) == 2
