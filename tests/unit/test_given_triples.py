"""`ingest --triples`: triples that somebody has already, each with a passage and a call."""

import json

import pytest

from drag_graph.documents.document_files import files_in
from drag_graph.documents.document_reader import DocumentReader, PassagePrivacy
from drag_graph.documents.given_triples import UNGROUNDED_CONFIDENCE, UNGROUNDED_VERSION, GivenTriples
from drag_graph.errors import InputError
from drag_graph.jobs.ingest_job import Ingester
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.settings import Settings
from drag_graph.testing.dict_store import DictStore

TEXT = """Orchid Project

The Orchid Project was started by Mara Lindqvist in the spring of the year 2019, after a long winter of plans.

Its budget of four million crowns is paid by the Norrland Foundation, and it is checked by nobody else in the town.
"""
STARTED = {"document": "a.txt", "subject": "Mara Lindqvist", "predicate": "started", "object": "Orchid Project"}
BUDGET = {"document": "a.txt", "subject": "orchid project", "predicate": "has a budget of", "object": "four million crowns"}
INVENTED = {"document": "a.txt", "subject": "Lisbon", "predicate": "is the capital of", "object": "Portugal", "confidence": 0.9}


@pytest.fixture
def store():
    with DictStore() as found:
        found.migrate()
        yield found


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "library"
    place.mkdir()
    (place / "a.txt").write_text(TEXT)
    (place / "b.txt").write_text("The gravity of the Moon causes the tides of the oceans.")
    return place


def given(tmp_path, *lines):
    path = tmp_path / "triples.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return GivenTriples.of_file(path)


def run(store, folder, triples=None):
    reader = DocumentReader(Settings(), LexicalEmbedder(), None, PassagePrivacy(), given=triples)
    report = Ingester(store, reader, workers=1, erase=store.erase).run(files_in([folder]))
    report.count_unmatched(triples, files_in([folder]))
    return report


def test_they_replace_those_of_the_rules_each_with_its_passage_and_call(store, folder, tmp_path):
    report = run(store, folder, given(tmp_path, STARTED, BUDGET, INVENTED))
    (graph,) = store.read([report.documents[0].id])
    evidence, calls = {item.id: item.text for item in graph.evidence}, {item.id: item for item in graph.calls}
    by_subject = {item.subject: item for item in graph.triples}
    assert len(graph.triples) == 3, "none of the rules"
    assert "Mara Lindqvist" in evidence[by_subject["Mara Lindqvist"].evidence_id]
    # The passage says "Its budget"; the project is in the heading above it.
    budget = next(item for item in graph.triples if item.object == "four million crowns")
    assert "four million crowns" in evidence[budget.evidence_id]
    assert (budget.confidence, calls[budget.call_ids[0]].model) == (1.0, "file:triples.jsonl")
    invented = by_subject["Lisbon"]
    assert invented.confidence == UNGROUNDED_CONFIDENCE
    assert [calls[id_].prompt_version for id_ in invented.call_ids] == [UNGROUNDED_VERSION]
    assert "Lisbon" not in {edge.subject for edge in graph.edges}
    assert (report.documents[0].ungrounded, report.totals()["ungrounded"], report.exit_code) == (1, 1, 0)
    (moon,) = store.read([report.documents[1].id])
    assert {call.model.partition("/")[0] for call in moon.calls} == {"patterns"}, (
        "a document without lines is read by the rules"
    )


def test_changed_triples_replace_the_document_and_the_same_ones_do_not(store, folder, tmp_path):
    run(store, folder, given(tmp_path, STARTED))
    assert [item.status for item in run(store, folder, given(tmp_path, STARTED)).documents] == ["unchanged", "unchanged"]
    assert [item.status for item in run(store, folder, given(tmp_path, BUDGET)).documents] == ["changed", "unchanged"]


def test_bad_lines_are_named_and_the_others_are_used(store, folder, tmp_path):
    triples = given(
        tmp_path,
        "no JSON",
        STARTED,
        {**STARTED, "object": ["a"]},
        {**STARTED, "confidence": 2},
        {**STARTED, "subject": "orchid project"},
        {**STARTED, "object": "half \ud800"},
        {**STARTED, "document": "gone.txt"},
    )
    report = run(store, folder, triples)
    assert report.exit_code == 1
    document = report.to_dict()["given_triples"]
    assert [item["line"] for item in document["rejected"]] == [1, 3, 4, 5, 6]
    assert document["rejected"][0]["reason"] == "The line is not JSON."
    assert document["rejected"][3]["reason"] == "Subject and object are the same."
    assert (document["lines"], document["rejected_lines"], document["unmatched_lines"]) == (7, 5, 1)
    assert report.documents[0].triples == 1


def test_a_document_in_a_folder_is_named_by_its_path_or_its_file(store, folder, tmp_path):
    (folder / "sub").mkdir()
    (folder / "a.txt").rename(folder / "sub" / "a.txt")
    assert given(tmp_path, {**STARTED, "document": "sub/a.txt"}).hash_of("sub/a.txt")
    triples = given(tmp_path, STARTED)
    report = run(store, folder, triples)
    assert (report.unmatched, {item.name: item.triples for item in report.documents}["sub/a.txt"]) == (0, 1)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match=r"Cannot read .*: No such file"):
        GivenTriples.of_file(tmp_path / "gone.jsonl")
