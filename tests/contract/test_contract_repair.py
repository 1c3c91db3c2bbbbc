"""What somebody did to a store behind its back is found by `db verify` and mended by `db repair`, on both engines."""

import re
import secrets
from dataclasses import replace
from pathlib import Path

import pytest
from tampering import statement

from drag_graph.app.resources import Resources
from drag_graph.compose.store_opening import open_store
from drag_graph.errors import ConfigurationError, ModelUnavailable
from drag_graph.inputs import read_queries
from drag_graph.manage.verification import problems, repair
from drag_graph.model import Aggregation
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.ports.concept_store import Changes, Concept
from drag_graph.settings import load_settings
from drag_graph.testing.builders import make_answer, make_subgraph
from drag_graph.testing.contract.base import records_of
from drag_graph.testing.finding import query_ids

EXAMPLES = Path(__file__).parents[2] / "examples"
NOW = "2026-11-21T12:00:00+00:00"


@pytest.fixture(params=["ladybug", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def settings(request, tmp_path, monkeypatch):
    """The settings of a store that holds three of the example questions and an answer to each."""
    flags = {
        "namespace": f"repair-{secrets.token_hex(4)}",
        "embedder": "lexical",
        "teacher": f"curated:{EXAMPLES / 'curated.jsonl'}",
    }
    monkeypatch.chdir(tmp_path)
    if request.param == "ladybug":
        flags["store"] = str(tmp_path / "graph.lbug")
    else:
        flags["store"], user, password = request.getfixturevalue("neo4j_lts")
        monkeypatch.setenv("NEO4J_USERNAME", user)
        monkeypatch.setenv("NEO4J_PASSWORD", password)
    settings = load_settings(flags)
    with Resources(settings).writing() as session:
        session.distiller("examples").run(list(read_queries(EXAMPLES / "questions.jsonl", namespace=settings.namespace))[:3])
        store = session.store
        graphs = store.read(query_ids(store))
        assert len(graphs) == 3
        for graph in graphs:
            shown = [("edge", edge.id) for edge in graph.usable_edges[:2]] + [("evidence", graph.kept_evidence[0].id)]
            store.save_answers([make_answer(graph.query.id, [graph], namespace=settings.namespace, refs=shown)])
        yield settings
    with open_store(settings) as store:
        store.erase(query_ids(store))
        if settings.uses_neo4j:
            tamper(settings, "namespace_gone")


def tamper(settings, flaw, **values):
    """Do what a statement of `tamper/` says."""
    if settings.uses_neo4j:
        import neo4j

        with neo4j.GraphDatabase.driver(
            settings.store, auth=(settings.neo4j_username, settings.neo4j_password.get_secret_value())
        ) as driver:
            driver.execute_query(*statement(flaw, "neo4j", settings.namespace, **values))
        return
    with open_store(settings) as store, store.writing() as session:
        session.execute(*statement(flaw, "ladybug", settings.namespace, **values))


def mend(settings):
    """Return what is wrong by check, and what `repair` said."""
    with open_store(settings) as store:
        found = {item.check for item in problems(store)}
        done = mended(settings, store)
        return found, {item.check: item for item in done}, store


def mended(settings, store, embedder=LexicalEmbedder):
    return repair(store, embedder)


def state(settings):
    with open_store(settings) as store:
        return records_of(store)


def wrong(settings):
    with open_store(settings) as store:
        return problems(store)


def test_a_healthy_store_is_left_as_it_is(settings):
    before = state(settings)
    assert wrong(settings) == []
    found, done, _ = mend(settings)
    assert (found, done) == (set(), {})
    assert state(settings) == before


def test_what_can_be_made_again_is_as_it_was(settings):
    before = state(settings)
    tamper(settings, "dangling_edge")
    found, done, _ = mend(settings)
    assert "dangling-id" in found
    assert done["dangling-id"].mended
    assert wrong(settings) == []
    assert state(settings) == before


def test_orphans_are_removed_and_only_they_and_their_query_is_to_be_distilled_again(settings):
    """What hangs between them, triples and simple edges, goes with them; Neo4j says, too, that the queries lack something."""
    gone = {"Entity", "MENTIONS", "TRIPLE", "RELATED"}
    before = state(settings)
    with open_store(settings) as store:
        counts, ids = store.counts(), query_ids(store)
        entities = [item.id for graph in store.read(ids) for item in graph.entities]
    tamper(settings, "orphan")
    assert {item.id for item in wrong(settings) if item.check == "orphan"} == {*entities}
    found, done, _ = mend(settings)
    assert "orphan" in found
    assert (done["orphan"].number, done["orphan"].mended) == (len(entities), True)
    assert "`drag-graph distill --replace`" in done["orphan"].what
    left = wrong(settings)
    assert {(item.check, item.id) for item in left} == ({("size", id_) for id_ in ids} if settings.uses_neo4j else set())
    assert all("`drag-graph distill --replace`" in item.message for item in left)
    with open_store(settings) as store:
        assert store.counts() == {name: 0 if name in gone else number for name, number in counts.items()}
    with Resources(settings).writing() as session:
        lines = list(read_queries(EXAMPLES / "questions.jsonl", namespace=settings.namespace))[:3]
        session.distiller("examples", replace="always").run(lines)
    assert wrong(settings) == []
    assert _timeless(state(settings)) == _timeless(before)


def _timeless(lines):
    return [re.sub(r'"(created_at|expires_at)": "[^"]*"', "", line) for line in lines]


def test_checking_passes_over_the_queries_once(settings, monkeypatch):
    """A page that is found by counting from the beginning costs more the farther it is."""
    calls = []
    with open_store(settings) as store, monkeypatch.context() as patch:
        ids, sources = query_ids(store), store.sources

        def counted(_store, *given, after="", limit):
            calls.append(after)
            return sources(*given, after=after, limit=limit)

        patch.setattr("drag_graph.manage.verification.PAGE", 1)
        patch.setattr("drag_graph.graph.paging.SOURCES_PER_PAGE", 1)
        patch.setattr(type(store), "sources", counted)
        assert problems(store) == []
    assert calls == ["", *ids]


@pytest.mark.parametrize(
    ("flaw", "check"),
    [
        ("evidence_gone", "unproven-triple"),
        ("call_gone", "unproven-triple"),
        ("provenance_gone", "unreadable"),
        ("parts_miscounted", "size"),
        ("calls_forgotten", "size"),
    ],
)
def test_what_is_not_there_any_more_is_named_with_its_cure(settings, flaw, check):
    tamper(settings, flaw)
    found, done, _ = mend(settings)
    assert check in found
    assert not done[check].mended
    assert "drag-graph distill --replace" in done[check].what
    assert check in {item.check for item in wrong(settings)}


def test_what_belongs_to_no_query_is_removed_with_the_answers(settings):
    tamper(settings, "query_gone")
    found, _, _ = mend(settings)
    assert {"orphan", "dangling-answer"} <= found
    assert wrong(settings) == []
    assert state(settings) == []


def test_dangling_answers_are_removed(settings):
    tamper(settings, "dangling_answer")
    found, _, _ = mend(settings)
    assert found == {"dangling-answer"}
    assert wrong(settings) == []
    with open_store(settings) as store:
        assert (store.counts()["Answer"], store.counts()["Query"]) == (0, 3)


def test_a_changed_text_is_found_and_said_to_be_beyond_repair(settings):
    with open_store(settings) as store:
        evidence = sorted(item.id for graph in store.read(query_ids(store)) for item in graph.evidence)
    tamper(settings, "text_changed")
    assert sorted(item.id for item in wrong(settings)) == evidence
    found, done, _ = mend(settings)
    assert found == {"checksum"}
    assert (done["checksum"].number, done["checksum"].mended) == (len(evidence), False)
    assert "`drag-graph distill --replace`" in done["checksum"].what


def test_concepts_are_counted_again(settings):
    with open_store(settings) as store:
        entities = [item for graph in store.read(query_ids(store)) for item in graph.entities][:4]
        named = {f"c{n}": item for n, item in enumerate(entities)}
        made = [Concept(id_, item.name, item.name) for id_, item in named.items()]
        store.concepts.write(Changes(concepts=made, links=[(item.id, id_) for id_, item in named.items()]))
        made = store.concepts.read(list(named))
        store.concepts.write(Changes(clusters=[(item, item.id) for item in made]))
        assert problems(store) == []
    tamper(settings, "miscounted")
    found, done, _ = mend(settings)
    assert "concept" in found
    assert done["concept"].mended
    assert wrong(settings) == []


@pytest.fixture
def linked(settings):
    """The store with its evidence and concepts embedded."""
    with Resources(settings).writing() as session:
        session.linker().run()
    return settings


def lose(settings, questions=1):
    """Make questions, two of evidence and two concepts lose their vectors; return the ids of the questions, and the others'."""
    zeros = [0.0] * 1024
    with open_store(settings) as store:
        graphs = store.read(query_ids(store))
        evidence = [item.id for item in graphs[-1].kept_evidence[:2]]
        concepts = list(store.concepts.read())[:2]
        lost = [replace(item, vector=zeros) for item in concepts]
        store.concepts.write(Changes(evidence=dict.fromkeys(evidence, zeros), named=lost))
    ids = [graph.query.id for graph in graphs[:questions]]
    tamper(settings, "questions_lost", ids=ids, zeros=zeros)
    return ids, {*evidence, *(item.id for item in concepts)}


def said(done):
    """Return of repairs what they count."""
    assert {item.check for item in done} <= {"vector"}
    return [(item.number, item.mended) for item in done]


def test_lost_vectors_are_found_and_made_again(linked):
    before = state(linked)
    questions, others = lose(linked)
    found = wrong(linked)
    assert {(item.check, item.id) for item in found} == {("vector", id_) for id_ in {*questions, *others}}
    owners = sorted(re.search(r"the vector of the (\w+) is", item.message)[1] for item in found)
    assert owners == ["concept", "concept", "evidence", "evidence", "question"]
    with open_store(linked) as store:
        done = mended(linked, store)
        assert said(done) == [(4, True), (1, True)]
        assert "`drag-graph link`" in done[0].what
        assert problems(store) == []
        assert mended(linked, store) == []
    with Resources(linked).writing() as session:
        report = session.linker().run()
        assert (report.evidence_vectors, report.concept_vectors) == (2, 2)
    assert wrong(linked) == []
    assert state(linked) == before


def test_concepts_keep_theirs_while_somebody_links(linked):
    """One that lost its vector in the middle would be judged, and settled, without."""
    _, others = lose(linked)
    with open_store(linked) as store:
        clusters = {item.id: item.cluster for item in store.concepts.read()}
        with store.concepts.exclusive():
            done = mended(linked, store)
        assert said(done) == [(1, True), (4, False)]
        assert "vectors of evidence and concepts were not removed: " in done[1].what
        assert "is being linked by" in done[1].what
        # Those of the question that got its vector are open, for the next `link`; none was judged meanwhile.
        assert all(item.cluster in {"", clusters[item.id]} for item in store.concepts.read())
        assert {item.id for item in problems(store)} == others
        assert said(mended(linked, store)) == [(4, True)]
        assert problems(store) == []


def test_questions_of_another_embedder_are_left_and_said_to_be(linked):
    questions, _ = lose(linked)
    with open_store(linked) as store:
        done = mended(linked, store, lambda: LexicalEmbedder(64))
        assert said(done) == [(4, True), (1, False)]
        assert "lexical/2-1024 (1024 dimensions), not by lexical/2-64 (64)" in done[1].what
        assert "`embedder=lexical`" in done[1].what
        assert [item.id for item in problems(store)] == questions


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (ModelUnavailable("the model is away", hint="Wait."), "the model is away. Wait."),
        (ConfigurationError("no embedder is named."), "no embedder is named."),
    ],
)
def test_so_they_are_while_their_embedder_cannot_be_used(linked, error, what):
    lose(linked)

    def unusable():
        raise error

    with open_store(linked) as store:
        done = mended(linked, store, unusable)
        assert said(done) == [(4, True), (1, False)]
        assert done[1].what == f"vectors of questions were not computed: {what}"


def test_those_that_were_embedded_before_it_failed_are_counted(linked, monkeypatch):
    monkeypatch.setattr("drag_graph.manage.verification.PAGE", 1)
    questions, _ = lose(linked, questions=3)

    embedded = []

    class Failing(LexicalEmbedder):
        def embed(self, texts):
            if len(embedded) == 1:
                raise ModelUnavailable("the model is away")
            embedded.extend(texts)
            return super().embed(texts)

    with open_store(linked) as store:
        first, *others = sorted(questions)
        (graph,) = store.read([first])
        done = mended(linked, store, Failing)
        assert said(done) == [(4, True), (1, True), (2, False)]
        assert done[2].what == "vectors of questions were not computed: the model is away."
        assert embedded == [graph.title], "evidence and concepts are no questions"
        assert sorted((item.check, item.id) for item in problems(store)) == [("vector", id_) for id_ in others]
        assert said(mended(linked, store)) == [(2, True)]
        assert problems(store) == []


def test_every_vector_is_read_once_or_twice(linked, monkeypatch):
    with open_store(linked) as store:
        verified, real = [], type(store).verify
        monkeypatch.setattr(type(store), "verify", lambda self: verified.append(1) or real(self))
        assert mended(linked, store) == []
        assert len(verified) == 1
    tamper(linked, "dangling_answer")
    with open_store(linked) as store:
        assert [item.check for item in mended(linked, store)] == ["dangling-answer"]
    assert len(verified) == 3


def test_no_embedder_is_made_while_no_question_lost_its_vector(linked):
    questions, _ = lose(linked)
    mend(linked)
    with open_store(linked) as store:
        evidence = store.read(questions)[0].kept_evidence[0].id
        store.concepts.write(Changes(evidence={evidence: [0.0] * 1024}))
        assert [item.mended for item in mended(linked, store, lambda: pytest.fail("nobody asked for it"))] == [True]


def test_what_has_no_words_has_lost_nothing(settings):
    graph = make_subgraph("wordless", namespace=settings.namespace, embedding=[0.0] * 1024)
    with open_store(settings) as store:
        assert [item.check for item in (store.save([graph], Aggregation()), store.verify())[1]] == ["vector"]
        wordless = graph.query.model_copy(update={"text": "?! \n \u2026"})
        store.save([graph.model_copy(update={"source": wordless, "settings_hash": "other"})], Aggregation())
        assert store.verify() == []
        wordless = graph.query.model_copy(update={"text": "?!\n\u6f22"})
        store.save([graph.model_copy(update={"source": wordless, "settings_hash": "another"})], Aggregation())
        assert [item.check for item in store.verify()] == ["vector"]
