"""What is due for a refresh, how its lines are made, and which round a run belongs to, on the store in memory."""

from datetime import datetime, timedelta

import pytest

from drag_graph.distill.query_distillation import Distillation, Usage
from drag_graph.errors import MalformedReply, Spent
from drag_graph.graph import paging
from drag_graph.jobs.distill_job import Distiller
from drag_graph.jobs.stale_queries import READ, UNDATED, due, stale_lines, stale_source
from drag_graph.ledger import Ledger
from drag_graph.ledger.journal import start_run
from drag_graph.ledger.tape import call_id, request_key
from drag_graph.model import Aggregation, TeacherCall
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.teachers.reply_reading import parse_reply
from drag_graph.ports.model_roles import TeacherReply
from drag_graph.settings import load_settings
from drag_graph.testing.builders import make_answer, make_subgraph
from drag_graph.testing.dict_store import DictStore

NOW = "2026-05-01T00:00:00+00:00"
LATER = "2026-05-02T00:00:00+00:00"
PLAIN = Aggregation()


@pytest.fixture
def store():
    with DictStore() as store:
        store.migrate()
        yield store


def fill(store, *, expired=(), failed=()):
    """Save subgraphs of these numbers, and a wrong answer to each failed one."""
    graphs = {}
    for number in sorted({*expired, *failed}):
        expires_at = "2026-04-30T00:00:00+00:00" if number in expired else LATER
        graphs[number] = make_subgraph(number).model_copy(update={"expires_at": expires_at})
        store.save([graphs[number]], PLAIN)
    store.save_answers([make_answer(number, [graphs[number]], label="B", correct=False) for number in failed])
    return {number: graph.query.id for number, graph in graphs.items()}


def test_what_is_due_comes_once_with_its_reasons(store):
    ids = fill(store, expired=(1, 2, 3), failed=(3, 4))
    found = {item.query.id: item.reasons for item in due(store, ["failed", "expired"], NOW)}
    assert found == {ids[1]: ("expired",), ids[2]: ("expired",), ids[3]: ("expired", "failed"), ids[4]: ("failed",)}
    assert list(found) == sorted(found)
    assert {item.query.id for item in due(store, ["failed"], NOW)} == {ids[3], ids[4]}
    assert {item.query.id for item in due(store, ["expired"], NOW)} == {ids[1], ids[2], ids[3]}
    assert list(due(store, ["expired"], "2026-01-01T00:00:00+00:00")) == []


@pytest.fixture
def small_pages(monkeypatch):
    monkeypatch.setattr(paging, "SOURCES_PER_PAGE", 7)


@pytest.mark.usefixtures("small_pages")
def test_more_than_a_page_is_due(store):
    ids = fill(store, expired=range(2 * READ + 1))
    found = list(due(store, ["expired"], NOW))
    assert [item.query.id for item in found] == sorted(ids.values())
    assert [line.number for line in stale_lines(store, found)] == list(range(1, len(ids) + 1))


@pytest.mark.usefixtures("small_pages")
def test_what_is_refreshed_on_the_way_does_not_hide_the_rest(store):
    ids = fill(store, expired=range(2 * READ))
    seen = []
    for item in due(store, ["expired"], NOW):
        seen.append(item.query.id)
        (graph,) = store.read([item.query.id])
        store.save([graph.model_copy(update={"expires_at": LATER})], PLAIN, replace=True)
    assert seen == sorted(ids.values())


def test_a_line_has_the_query_and_its_edition(store):
    ids = fill(store, expired=(1, 2))
    undated = make_subgraph("undated").model_copy(update={"created_at": ""})
    store.save([undated], PLAIN)
    made = {line.query.id: line for line in stale_lines(store, due(store, ["expired"], NOW))}
    assert made.keys() == {*ids.values(), undated.query.id}
    assert made[ids[1]].query == store.read([ids[1]])[0].query
    assert made[ids[1]].edition == make_subgraph(1).created_at
    assert made[undated.query.id].edition == UNDATED


def test_what_was_erased_or_refreshed_since_it_was_found_is_left_out(store):
    ids = fill(store, expired=(1, 2, 3))
    found = list(due(store, ["expired"], NOW))
    store.erase([ids[1]])
    store.save([make_subgraph(2).model_copy(update={"created_at": NOW})], PLAIN, replace=True)
    assert [line.query.id for line in stale_lines(store, found)] == [ids[3]]


def test_refreshes_of_one_day_for_the_same_reasons_are_one_job():
    morning = datetime.fromisoformat("2026-05-01T01:00:00+00:00")
    assert stale_source(["failed", "expired"], morning) == "--expired --failed of 2026-05-01"
    assert stale_source(["expired", "failed"], morning + timedelta(hours=22)) == stale_source(["failed", "expired"], morning)
    assert stale_source(["expired"], morning) != stale_source(["expired"], morning + timedelta(hours=24))


class Teacher:
    """Says something of each question and keeps the editions that it was asked for; `before` is called at each request."""

    name = fingerprint = "saying"

    def __init__(self, *, is_model=True, before=lambda: None):
        self.is_model, self.before, self.editions = is_model, before, []

    def ask(self, request):
        self.editions.append(request.edition)
        self.before()
        document = {
            "evidence": {"evidence": [f"Fact {n} about thing {n} of {request.query.text}" for n in range(4)]},
            "scores": {"scores": [{"index": n, "score": 9 - n} for n in range(4)]},
            "triples": {
                "triples": [{"subject": "thing", "predicate": "has", "object": "fact", "confidence": 1, "evidence": [0]}]
            },
        }[request.stage]
        key = request_key(self.name, request)
        made = {"id": call_id(request, key), "source_id": request.query.id, "stage": request.stage, "model": self.name}
        call = TeacherCall(**made, prompt_version="1", request_sha256=key, response_sha256="b")
        return TeacherReply(parse_reply(request.schema, document), call)


def refreshed(store, teacher, journal=None, *, retry=False):
    settings = load_settings({"workers": 2})
    run = start_run(kind="refresh", namespace="default", store="memory", source="test", teacher="saying", plan="lean")
    distills = Distillation(settings, LexicalEmbedder(), teacher)
    stale = stale_lines(store, due(store, ["expired"], NOW))
    return Distiller(store, distills, journal or Ledger().journal, run, workers=2, retry_quarantined=retry).run(stale)


def test_the_teacher_is_asked_for_the_edition_that_is_replaced(store):
    ids = fill(store, expired=(1,))
    teacher = Teacher()
    report = refreshed(store, teacher)
    assert [result.status for result in report.queries] == ["complete"]
    assert teacher.editions == [make_subgraph(1).created_at] * 3
    (graph,) = store.read(list(ids.values()))
    assert graph.expires_at > graph.created_at > NOW
    assert refreshed(store, teacher).queries == []
    assert len(teacher.editions) == 3


def test_without_an_edition_and_of_what_people_wrote_nothing_else_is_asked():
    settings, query = load_settings(), make_subgraph(1).query
    plain, people = Teacher(), Teacher(is_model=False)
    first, _ = Distillation(settings, LexicalEmbedder(), plain).distill(query, Usage())
    again, _ = Distillation(settings, LexicalEmbedder(), people).distill(query, Usage(), NOW)
    assert {*plain.editions, *people.editions} == {""}
    assert [call.id for call in first.calls] == [call.id for call in again.calls]


def test_a_wrong_answer_of_the_second_of_the_refresh_does_not_count_against_it(store):
    """Times have seconds, so the new edition is dated to the next one."""
    ids = fill(store, expired=(1,))
    refreshed(store, Teacher())
    (graph,) = store.read(list(ids.values()))
    before = datetime.fromisoformat(graph.created_at) - timedelta(seconds=1)
    answer = make_answer(1, [graph], label="B", correct=False, created_at=before.isoformat())
    store.save_answers([answer])
    assert list(due(store, ["failed"], NOW)) == []
    store.save_answers([make_answer(2, [graph], label="B", correct=False, created_at=graph.created_at)])
    assert [item.query.id for item in due(store, ["failed"], NOW)] == list(ids.values())


def test_a_query_that_is_erased_during_its_refresh_does_not_come_back(store):
    ids = fill(store, expired=(1,))
    report = refreshed(store, Teacher(before=lambda: store.erase([ids[1]])))
    (result,) = report.queries
    assert (result.status, result.calls) == ("skipped", 3)
    assert "erased" in result.error
    assert store.counts()["Query"] == 0
    assert report.exit_code == 0


def test_what_was_quarantined_and_paid_for_in_one_edition_is_not_asked_for_it_again(store):
    ids = fill(store, expired=(1,))
    before = store.read(list(ids.values()))

    def fail():
        error = MalformedReply("prose", raw="prose")
        error.spent = Spent(calls=3, tokens_in=1, tokens_out=1, cost_usd=0.5)
        raise error

    failing, journal = Teacher(before=fail), Ledger().journal
    assert [result.status for result in refreshed(store, failing, journal).queries] == ["quarantined"]
    assert store.read(list(ids.values())) == before
    assert [result.cost_usd for result in refreshed(store, failing, journal).queries] == [0]
    assert len(failing.editions) == 1
    teacher = Teacher()
    assert [result.status for result in refreshed(store, teacher, journal, retry=True).queries] == ["complete"]
    assert store.read(list(ids.values())) != before
