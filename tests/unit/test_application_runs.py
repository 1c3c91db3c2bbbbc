"""Runs of the application: questions and documents in every form, progress, cancelling, resuming, past runs."""

import json

import pytest

from drag_graph.app import DragGraph
from drag_graph.errors import ConfigurationError, DocumentUnusable, Interrupted
from drag_graph.inputs import make_query

FACTS = {"Why does iron rust?": "Oxygen causes rust.", "What pulls the sea?": "The Moon causes tides."}


@pytest.fixture
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [{"question": question, "evidence": [fact]} for question, fact in FACTS.items()]
    (tmp_path / "facts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with DragGraph("graph.lbug", embedder="lexical", teacher="curated:facts.jsonl", workers=1) as opened:
        yield opened


def documents(folder, number):
    folder.mkdir(exist_ok=True)
    for place in range(number):
        (folder / f"{place:03}.txt").write_text(f"Cause number {place} leads to effect number {place}.")
    return folder


def test_questions_are_texts_documents_queries_or_a_file(graph, tmp_path):
    rust, sea = FACTS
    assert graph.distill([rust]).result().totals()["complete"] == 1
    again = graph.distill([rust, {"id": "sea", "question": sea}, make_query("Who?")]).result()
    assert [(result.input_id, result.status) for result in again.results()] == [
        ("", "complete"), ("sea", "complete"), ("", "quarantined")
    ]  # fmt: skip
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps({"id": "a", "question": rust}) + "\nnonsense\n")
    seen = []
    report = graph.distill(file, on_progress=seen.append).result()
    assert (report.totals()["complete"], report.totals()["rejected"], report.exit_code) == (1, 1, 1)
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (0, 1, 2)
    assert report.to_dict()["queries"][0]["input_id"] == "a"
    assert graph.estimate_distill(file).to_dict()["stored"] == 1
    with pytest.raises(ConfigurationError, match="list of questions"):
        graph.distill(rust)
    with pytest.raises(ConfigurationError, match="There is no question"):
        graph.distill([{"text": rust}]).result()


def test_the_report_of_a_run_and_the_list_count_the_kept_evidence(tmp_path):
    line = {"question": "Why does iron rust?", "evidence": ["Oxygen causes rust.", "The right answer is B."]}
    (tmp_path / "facts.jsonl").write_text(json.dumps(line))
    with DragGraph(tmp_path / "g.lbug", embedder="lexical", teacher=f"curated:{tmp_path / 'facts.jsonl'}") as graph:
        report = graph.distill([line["question"]], drop_leaks=True).result().to_dict()
        (listed,) = graph.show().to_dict()
    assert [one["evidence"] for one in (report["totals"], *report["queries"], listed)] == [1, 1, 1]


def test_past_runs_are_listed_with_what_became_of_each_question(graph):
    graph.distill([*FACTS, "Who?"]).result()
    (listed,) = graph.runs.list().runs
    assert (listed.ending, listed.counts["quarantined"]) == ("ended, exit 1", 1)
    details = graph.runs.show(listed.run.id[:6], statuses=["quarantined"])
    assert [query.question for query in details.queries] == ["Who?"]
    assert details.to_dict()["queries"][0]["status"] == "quarantined"


def test_runs_with_the_name_of_a_job_belong_together_whatever_their_input_is(graph):
    graph.distill(list(FACTS), job="nightly").result()
    graph.distill(["Who?"], job="nightly").result()
    graph.distill(list(FACTS)).result()
    graph.refresh(failed=True, job="weekly").result()
    jobs = {}
    for summary in graph.runs.list():
        jobs.setdefault(summary.run.job, []).append(summary.run.source)
    assert sorted(jobs.values()) == [["a list"], ["nightly", "nightly"], ["weekly"]]


def test_a_text_with_a_name_is_a_document(graph):
    first = graph.ingest(text="The gravity of the Moon causes tides.", name="note").result()
    assert [(item.name, item.status) for item in first.documents] == [("note", "added")]
    assert graph.ingest(text="The gravity of the Moon causes tides.", name="note").result().totals()["unchanged"] == 1
    assert graph.ingest(text="The Sun helps.", name="note").result().totals()["changed"] == 1
    (stored,) = [item.source for item in graph.show().subgraphs]
    assert (stored.name, stored.uri, stored.media_type) == ("note", "text:note", "text/plain")
    for wrong in ({"text": "no name"}, {}, {"paths": ["x"], "text": "a", "name": "b"}):
        with pytest.raises(ConfigurationError, match="either paths, or a text and its name"):
            graph.ingest(**wrong)


def test_a_cancelled_run_keeps_what_is_done_and_the_same_call_resumes_it(graph, tmp_path):
    folder, handles = documents(tmp_path / "docs", 80), []

    def cancel(progress):
        if progress.done == 3:
            while not handles:
                pass
            handles[0].cancel()

    handles.append(graph.ingest(folder, on_progress=cancel, wait=False))
    with pytest.raises(Interrupted) as stopped:
        handles[0].result(60)
    report = stopped.value.report
    added = report.totals()["added"]
    assert 3 <= added < 80
    assert report.totals()["pending"] > 0
    assert len(graph.show(limit=100).subgraphs) == added
    rest = graph.ingest(folder).result().totals()
    assert (rest["unchanged"], rest["added"]) == (added, 80 - added)


def test_sync_erases_nothing_if_a_folder_cannot_be_listed(graph, tmp_path, monkeypatch):
    folder = documents(tmp_path / "docs", 2)
    documents(folder / "inner", 2)
    graph.ingest(folder).result()
    inner = folder / "inner"
    import os

    scandir = os.scandir

    def refuse(path):
        if str(path) == str(inner):
            raise PermissionError(13, "Permission denied", str(inner))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    for call in (graph.ingest, graph.estimate_ingest):
        with pytest.raises(DocumentUnusable, match=r"inner: The folder cannot be listed: Permission denied"):
            call(folder, sync=True)
    assert len(graph.show().subgraphs) == 4
    report = graph.ingest(folder).result()
    assert (report.exit_code, report.totals()["failed"]) == (1, 1)


def test_link_and_communities_report_and_list_what_they_made(graph):
    graph.distill(list(FACTS)).result()
    seen = []
    report = graph.link(on_progress=seen.append).result()
    assert report.to_dict()["concepts"] > 0
    assert seen
    assert graph.merges().to_dict() == {"merges": []}
    made = graph.communities().result()
    assert made.totals()["communities"] == len(graph.stored_communities().communities) > 0
    picture = graph.community_picture()
    assert {one["id"] for one in picture.communities} == {one["community"] for one in picture.entities}
    assert graph.picture().to_dict()["communities"]
