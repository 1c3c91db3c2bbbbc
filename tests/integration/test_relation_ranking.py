"""The order of relations under `--plan paper`, asked of a server over HTTP."""

import pytest

from drag_graph.app.resources import Resources
from drag_graph.inputs import InputLine, make_query
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.settings import load_settings
from drag_graph.testing.server import Say, ScriptedServer

QUESTION = "Which gas do plants take in?"
FACTS = ["Plants absorb carbon dioxide.", "Leaves release oxygen.", "Roots drink water.", "Bees carry pollen."]
ENDS = [
    ("plants", "absorb", "carbon dioxide"),
    ("leaves", "release", "oxygen"),
    ("roots", "drink", "water"),
    ("bees", "carry", "pollen"),
]


@pytest.fixture
def server():
    with ScriptedServer() as running:
        running.always("evidence", lambda _request: Say({"evidence": FACTS}))
        running.always("triples", triples_of)
        yield running


def triples_of(request):
    """Return the triple of each fact that the prompt shows; the less a fact helps, the surer it is."""
    prompt = request.body["messages"][-1]["content"].split("Evidence:")[-1]
    shown = sorted((prompt.index(text), place) for place, text in enumerate(FACTS) if text in prompt)
    keys = ("subject", "predicate", "object")
    return Say(
        {
            "triples": [
                {**dict(zip(keys, ENDS[place], strict=True)), "confidence": 0.4 + 0.1 * place, "evidence": [number]}
                for number, (_, place) in enumerate(shown)
            ]
        }
    )


def in_order(*first):
    """Return a reply that lists the statements of these subjects first, all with one score."""

    def reply(request):
        lines = request.body["messages"][-1]["content"].splitlines()
        numbers = {line.split(". ", 1)[1].split()[0].lower(): int(line.split(".")[0]) for line in lines if line[:1].isdigit()}
        return Say({"scores": [{"index": numbers[subject], "score": 5} for subject in first]})

    return reply


def distill(server, tmp_path, **flags):
    settings = load_settings(
        {
            "store": str(tmp_path / "graph.lbug"),
            "teacher": "scripted",
            "teacher_base_url": server.url,
            "embedder": "lexical",
            "plan": "paper",
            "number_of_evidence": 4,
            **flags,
        }
    )
    with Resources(settings).writing() as session:
        report = session.distiller().run([InputLine(1, query=make_query(QUESTION))])
        (result,) = report.queries
        assert result.status == "complete", result.error
        (subgraph,) = session.store.read([result.id])
    return subgraph, result


def by_rank(triples):
    return [triple.subject for triple in sorted(triples, key=lambda triple: triple.rank)]


def by_nearness():
    embedder = LexicalEmbedder()
    question, *vectors = embedder.embed([QUESTION, *(" ".join(ends) for ends in ENDS)])
    return [ENDS[place][0] for place in sorted(range(4), key=lambda place: -float(vectors[place] @ question))]


def test_the_teachers_order_and_the_cosine_rank_relations_together(server, tmp_path):
    """All scores are alike, so that it is the order of the reply that counts."""
    first, second, third, fourth = by_nearness()
    server.script("scores", in_order("plants", "leaves", "roots", "bees"), in_order(third, first, second, fourth))
    subgraph, _ = distill(server, tmp_path)
    # The sums of both ranks: 0 + 1, 1 + 2, 2 + 0, 3 + 3.
    assert by_rank(subgraph.triples) == [first, third, second, fourth]
    assert [edge.subject for edge in sorted(subgraph.edges, key=lambda edge: edge.rank)] == [first, third, second, fourth]
    (call,) = [call for call in subgraph.calls if call.stage == "relations"]
    assert call.prompt_version == "relations-paper/1"
    assert min(edge.confidence for edge in subgraph.edges) == 0.4, "nothing is pruned"


def test_without_the_order_the_confidences_count_and_nobody_is_asked(server, tmp_path):
    server.always("scores", in_order("plants", "leaves", "roots", "bees"))
    subgraph, result = distill(server, tmp_path, rank_relations=False, ranking="weighted", alpha=1.0)
    assert by_rank(subgraph.triples) == ["bees", "roots", "leaves", "plants"]
    assert server.count("scores") == 1
    assert "relations" not in {call.stage for call in subgraph.calls}
    assert not [note for note in result.notes if "order of the relations" in note]


def test_where_the_judgement_weighs_nothing_nobody_is_asked_for_it(server, tmp_path):
    subgraph, _ = distill(server, tmp_path, rank_relations=False, ranking="weighted", alpha=0.0)
    assert server.count("scores") == 0
    assert "scores" not in {call.stage for call in subgraph.calls}
    ranked = sorted(subgraph.evidence, key=lambda item: item.rank)
    assert [item.score for item in ranked] == [max(0.0, item.cosine) for item in ranked]
    assert ranked[0].score > ranked[-1].score


def test_an_unusable_order_is_said_and_the_confidences_stand_for_it(server, tmp_path):
    server.script("scores", in_order("plants", "leaves", "roots", "bees"))
    server.always("scores", lambda _request: Say("I like them all."))
    subgraph, result = distill(server, tmp_path, ranking="weighted", alpha=1.0)
    assert by_rank(subgraph.triples) == ["bees", "roots", "leaves", "plants"]
    assert [note for note in result.notes if "order of the relations was unusable" in note]


def test_relations_can_be_ordered_under_the_lean_plan(server, tmp_path):
    server.script("scores", in_order("plants", "leaves", "roots", "bees"))

    def scored(request):
        lines = [line for line in request.body["messages"][-1]["content"].splitlines() if line[:1].isdigit()]
        return Say({"scores": [{"index": number, "score": 9 if "leaves" in line else 2} for number, line in enumerate(lines)]})

    server.always("scores", scored)
    subgraph, _ = distill(server, tmp_path, plan="lean", rank_relations=True, alpha=1.0, threshold=0.0)
    assert by_rank(subgraph.triples)[0] == "leaves"
    assert server.count("triples") == 1
