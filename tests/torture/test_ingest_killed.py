"""`kill -9` of `ingest`: the full-text index of an embedded store never disagrees with the store.

A folder changes between the runs, so that documents are added, replaced and erased. Each run is killed: at a random instant, or
within the update of the index. Then the store is opened, searched, and compared with the rows of the index.
"""

import json
import os
import random
import signal
import sqlite3
import time
from contextlib import closing
from itertools import pairwise

import pytest
from harness import Fatal, Place

from drag_graph.graph.search_terms import search_terms
from drag_graph.stores.ladybug.ladybug_store import LadybugStore

FILES = 60
FEW = 20
"""Files of the quick variant."""
STORED = "embedded, ingest"
_SYLLABLES = ("ba", "cen", "di", "for", "gu", "la", "mer", "ni", "pol", "ru", "sa", "ten", "vi", "zo", "ki", "lo")
_PARTS = ("pump", "valve", "boiler", "turbine", "sensor", "filter", "heater", "motor", "switch", "bearing")


class Folder:
    """Files that change. Each version of a file has a word that no other text has."""

    def __init__(self, path, chance, files):
        self.path, self._chance, self._files = path, chance, files
        self.words, self._number = {}, 0
        self.used = set()
        path.mkdir()
        for number in range(self._files):
            self._write(f"{number:03}.txt")

    def change(self):
        """Change some files, remove some, and write some removed ones again."""
        there = sorted(self.words)
        gone = [name for number in range(self._files) if (name := f"{number:03}.txt") not in self.words]
        for name in (*self._chance.sample(there, 6), *gone):
            self._write(name)
        for name in self._chance.sample(there, 4):
            (self.path / name).unlink()
            del self.words[name]

    def _write(self, name):
        self._number += 1
        word, rest = "q", self._number + 1000
        while rest:
            rest, place = divmod(rest, len(_SYLLABLES))
            word += _SYLLABLES[place]
        self.words[name] = word
        self.used.add(word)
        parts = self._chance.sample(_PARTS, 6)
        lines = [f"The {one} is a part of the {other}." for one, other in pairwise(parts)]
        lines += [f"The {word} unit contains the {parts[0]}.", f"Leaks of the {parts[1]} cause damage number {self._number}."]
        self._chance.shuffle(lines)
        (self.path / name).write_text("\n\n".join(lines) + "\n", encoding="utf-8")


class Ingests:
    """Runs of `ingest` on a folder, in children of the nursery."""

    def __init__(self, nursery, tmp_path, chance, files):
        self.place = Place("embedded", tmp_path)
        self.work = self.place.clean()
        self.folder = Folder(self.work / "library", chance, files)
        self.store = self.work / "graph.lbug"
        self.seconds = 0.0
        """How long a run takes that is left alone."""
        self._nursery, self._run = nursery, 0

    def start(self, fatal=None, *, sync=False):
        self._run += 1
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("DRAG_GRAPH_", "NEO4J_"))}
        argv = ["ingest", "library", *self.place.flags, "--workers", "2", "--json", *(["--sync"] if sync else [])]
        return self._nursery.start(
            {
                "commands": [{"argv": argv, "out": str(self.work / "report")}],
                "environment": {**environment, **self.place.variables},
                "cwd": str(self.work),
                "boundaries": str(self.passed),
                "fatal": fatal,
            }
        )

    @property
    def passed(self):
        return self.work / f"boundaries-{self._run}"

    def undisturbed(self, *, sync=False):
        """Run to the end; return the boundaries of the index."""
        began = time.monotonic()
        self.start(sync=sync)
        ended = self._nursery.wait()
        assert ended == ([0], 0), (ended, (self.work / "report.err").read_text())
        self.seconds = time.monotonic() - began
        return [name for name in self.passed.read_text(encoding="ascii").splitlines() if name.startswith("index:")]

    def killed_after(self, seconds, *, sync):
        """Run for that long; return whether the run was still at work."""
        pid = self.start(sync=sync)
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        return self._nursery.wait().signal == signal.SIGKILL

    def killed_at(self, fatal, *, sync):
        """Run to a boundary; return whether it was passed."""
        self.start(fatal, sync=sync)
        return self._nursery.wait().signal == signal.SIGKILL

    def indexed(self):
        """Return the path of the index, or None if there is none."""
        files = list(self.work.glob("graph.lbug*.search"))
        return files[0] if files else None


def check(ingests):
    """Hold that the index agrees with the store once it was used; return the words of the stored documents, by name."""
    with LadybugStore(ingests.store, namespace=ingests.place.variables["DRAG_GRAPH_NAMESPACE"]) as store:
        store.migrate()  # a kill may have come before there was a store
        with store.reading() as session:
            revisions = {row["id"]: row["revision"] for row in session.run("index_sources", namespace=store.namespace)}
        graphs = store.read(sorted(revisions))
        words = _stored_words(graphs)
        for graph in graphs:
            assert found_by(store, [words[graph.title]]) == {graph.source_id}, f"{graph.title} is not found by its own word"
        gone = sorted(ingests.folder.used - set(words.values()))
        for start in range(0, len(gone), 100):
            assert not found_by(store, gone[start : start + 100]), "what was replaced or erased is found"
    with closing(sqlite3.connect(ingests.indexed())) as index:
        check_rows(index, graphs, revisions, gone)
    return words


def found_by(store, words):
    """Return the sources of the passages and units that have any of these words."""
    terms = [term for word in words for term in search_terms(word)]
    found = store.search.candidates((), terms, 200).found
    units = store.search.units(list({*found.units_by_words, *found.unit_of.values()}), [[]])
    hits = {id_: unit.source_id for unit in units for id_ in (unit.id, *(passage.id for passage in unit.passages))}
    return {hits[id_] for id_ in (*found.by_words, *found.units_by_words)}


def check_rows(index, graphs, revisions, gone):
    """Hold that the rows of the index are those of the store."""

    def rows(statement):
        return index.execute(statement).fetchall()

    kept = {item.id: graph.source_id for graph in graphs for item in graph.kept_evidence}
    assert dict(rows("SELECT id, revision FROM source")) == revisions
    units = rows("SELECT id, source_id FROM unit")
    assert len(units) == len(dict(units))
    assert dict(units) == {chunk.id: graph.source_id for graph in graphs for chunk in graph.chunks}
    passages = rows("SELECT p.id, u.source_id FROM passage p JOIN unit u ON u.n = p.unit")
    assert len(passages) == len(kept)
    assert dict(passages) == kept
    assert rows("SELECT count(*) FROM passage") == [(len(kept),)]
    triples = {triple.id for graph in graphs for triple in graph.triples if triple.evidence_id in kept}
    assert {id_ for (id_,) in rows("SELECT id FROM fact")} == triples
    for table in ("unit", "passage"):
        numbers = rows(f"SELECT n FROM {table} ORDER BY n")
        assert numbers == rows(f"SELECT rowid FROM {table}_terms ORDER BY rowid")
        index.execute(f"INSERT INTO {table}_terms ({table}_terms) VALUES ('integrity-check')")
    assert rows("PRAGMA integrity_check") == [("ok",)]
    text = json.dumps(
        [rows(f"SELECT * FROM {table}") for table in ("source", "unit", "passage", "fact", "unit_terms", "passage_terms")]
    )
    left = [word for word in gone if word in text]
    assert not left, f"in the rows of the index, but not in the store: {left}"


def _stored_words(graphs):
    """Return the own word of each document, by its name."""
    texts = {graph.title: " ".join(chunk.text for chunk in graph.chunks) for graph in graphs}
    assert len(texts) == len(graphs)
    return {name: text.partition(" unit contains")[0].rpartition(" ")[2] for name, text in texts.items()}


def kill_often(nursery, tmp_path, tally, kills, *, files):
    """Kill that many runs, every third within the update of the index, and check after each."""
    chance = random.Random(kills)
    ingests = Ingests(nursery, tmp_path, chance, files)
    statements = ingests.undisturbed()
    assert {"index: rows written", "index: state written", "index: before a commit", "index: committed"} <= set(statements)
    assert check(ingests) == ingests.folder.words
    counted, round_, behind = dict.fromkeys(("random instants", "in the update of the index"), 0), 0, 0
    while sum(counted.values()) < kills:
        round_ += 1
        assert round_ <= 3 * kills + 5, f"too few of {round_} runs were killed in time: {counted}"
        ingests.folder.change()
        sync = round_ % 3 == 0
        if round_ % 3 == 1:
            kind = "in the update of the index"
            fatal = Fatal(chance.randint(1, len(statements)), "index:", chance.choice([None, chance.uniform(0, 0.01)]))
            killed = ingests.killed_at(fatal, sync=chance.random() < 0.5)
        else:
            kind, killed = "random instants", ingests.killed_after(chance.uniform(0, ingests.seconds), sync=sync)
        if killed:
            counted[kind] += 1
            tally.add(STORED, kind)
        behind += is_behind(ingests)
        check(ingests)
        if round_ % 10 == 0:
            ingests.undisturbed(sync=True)
    ingests.undisturbed(sync=True)
    assert check(ingests) == ingests.folder.words
    tally.add("index behind the store after a kill", "ingest", behind)
    return counted


def is_behind(ingests):
    """Whether the index lacks a change of the store, as the kill left it."""
    path = ingests.indexed()
    if path is None:
        return True
    with LadybugStore(ingests.store, namespace=ingests.place.variables["DRAG_GRAPH_NAMESPACE"]) as store:
        store.migrate()
        with store.reading() as session:
            revisions = {row["id"]: row["revision"] for row in session.run("index_sources", namespace=store.namespace)}
    with closing(sqlite3.connect(path)) as index:
        return dict(index.execute("SELECT id, revision FROM source")) != revisions


def test_an_index_agrees_with_its_store_after_kills(nursery, tmp_path, tally):
    kill_often(nursery, tmp_path, tally, 3, files=FEW)


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_an_index_agrees_with_its_store_after_50_kills(nursery, tmp_path, tally):
    counted = kill_often(nursery, tmp_path, tally, 50, files=FILES)
    assert all(number >= 10 for number in counted.values()), counted
