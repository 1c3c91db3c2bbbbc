"""Does searching stay as fast as a store grows? Times and sizes at each number of passages (docs/measurements/search.md).

    python bench/search_scale.py --sizes 1000 10000 100000
    NEO4J_PASSWORD=... drag-graph db up --home /tmp/scale --bolt-port 7794 --http-port 7795 --heap 2g --page-cache 4g
    NEO4J_PASSWORD=... python bench/search_scale.py --store bolt://127.0.0.1:7794 --sizes 1000

Documents have 50 passages in 10 chunks. Words, names and topics follow Zipf's law. A passage has two triples, and names occur
in many documents. Vectors are random, near to those of their topic. Documents are written by `store.save`, because embedding
100,000 texts takes too long. Each question has words and a name of one passage, and a vector near to it. A search is
`Searcher.near` and `Searcher.findings`, in a process that has searched before. Times are medians; in brackets are the 90th
percentile, and both again as processor time of this process. `vectors` is the comparison of the question with all vectors.

The embedded engine gets a new file for each size. A Neo4j server should be new for each size.
"""

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from drag_graph.ask.searching import Searcher
from drag_graph.concurrency.interruption import Interruption
from drag_graph.errors import Interrupted
from drag_graph.identity import chunk_id, content_id, document_id, query_id
from drag_graph.jobs.link_job import Linker
from drag_graph.model import Aggregation, Chunk, Document, Entity, Evidence, Query, Subgraph, TeacherCall, Triple
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.vectors import Vectors
from drag_graph.stores.ladybug.ladybug_store import LadybugStore
from drag_graph.stores.neo4j.neo4j_store import Neo4jStore
from drag_graph.version import __version__

CHUNKS, PASSAGES = 10, 5
"""Of a document, and of a chunk."""
DIMENSION, TOPICS, NOISE = 384, 200, 0.8
QUESTIONS, WARM_UP = 50, 10
NAMESPACE, TIME = "scale", "2026-01-02T03:04:05+00:00"
AGGREGATION = Aggregation().of_documents()
PARTS = ("whole", "walk", "candidates", "units", "around", "vectors")
"""What is timed: `walk` contains `around`, `candidates` a comparison as long as `vectors`; `whole` all but the last."""
_SYLLABLES = ("ba", "cen", "di", "for", "gu", "la", "mer", "ni", "pol", "ru", "sa", "ten", "vi", "zo", "ki", "lo")
_FUNCTION_WORDS = (
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "was",
    "for",
    "on",
    "that",
    "with",
    "by",
    "as",
    "at",
    "from",
    "it",
)
_PREDICATES = ("is_a", "causes", "prevents", "contains", "produces", "regulates", "leads", "is_part_of")


def _word(number: int, syllables: int) -> str:
    parts = []
    for _ in range(syllables):
        number, rest = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[rest])
    return "".join(parts)


VOCABULARY = [*_FUNCTION_WORDS, *(_word(number, 4) for number in range(30_000))]
WEIGHTS = list(accumulate(1 / (rank + 2.7) for rank in range(len(VOCABULARY))))


def unit(vector: np.ndarray) -> np.ndarray:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def noisy(vector: np.ndarray, seed: int, noise: float) -> np.ndarray:
    """Return a unit vector near to another one; `noise` is the length of what is added."""
    return unit(vector + noise * unit(np.random.default_rng(seed).standard_normal(DIMENSION)))


class Corpus:
    """Documents by number. The number of names grows with the corpus."""

    def __init__(self, passages: int) -> None:
        self.documents = passages // (CHUNKS * PASSAGES)
        self._names = max(200, passages // 2)
        self._topics = [unit(np.random.default_rng(10**9 + topic).standard_normal(DIMENSION)) for topic in range(TOPICS)]

    def name(self, rank: int) -> str:
        return f"{_word(rank * 7 + 3, 3).title()} {_word(rank // 5, 3).title()}"

    def document(self, number: int) -> tuple[Subgraph, dict[str, np.ndarray]]:
        """Return a document, and the vectors of its passages by id."""
        chance, uri = random.Random(number), f"file:///scale/{number}.txt"
        source_id = document_id(NAMESPACE, uri)
        document = Document(id=source_id, namespace=NAMESPACE, name=f"{_word(number, 4)} report {number}.txt", uri=uri)
        call = TeacherCall(
            id=content_id(NAMESPACE, "call", source_id),
            source_id=source_id,
            stage="triples",
            model="bench/rules",
            prompt_version="1",
            request_sha256=f"{number:064x}",
            response_sha256=f"{number:064x}",
            created_at=TIME,
        )
        # Of a document, most passages are about one topic.
        own_topic, entities, start = int(TOPICS ** chance.random()) - 1, dict[str, Entity](), 0
        chunks, evidence, triples, vectors = list[Chunk](), list[Evidence](), list[Triple](), dict[str, np.ndarray]()
        for place in range(CHUNKS):
            texts, pairs = [], []
            for _ in range(PASSAGES):
                names = [self.name(int(self._names ** chance.random()) - 1) for _ in range(4)]
                predicates = chance.choices(_PREDICATES, k=2)
                texts.append(_text(chance, names, predicates))
                pairs.append([(names[0], predicates[0], names[1]), (names[2], predicates[1], names[3])])
            text, within = " ".join(texts), start
            id_ = chunk_id(NAMESPACE, source_id, place, text)
            chunks.append(Chunk(id=id_, source_id=source_id, position=place, start=start, end=start + len(text), text=text))
            for passage, facts in zip(texts, pairs, strict=True):
                position = len(evidence)
                evidence_id = content_id(NAMESPACE, "evidence", source_id, str(position), passage)
                own = {"source_id": source_id, "position": position, "rank": position, "created_at": TIME}
                where = {"chunk_id": id_, "start": within, "end": within + len(passage)}
                evidence.append(Evidence(id=evidence_id, text=passage, **own, **where))
                topic = own_topic if chance.random() < 0.8 else chance.randrange(TOPICS)
                vectors[evidence_id] = noisy(self._topics[topic], number * 1000 + position, NOISE)
                within += len(passage) + 1
                for subject, predicate, object_ in facts:
                    if subject != object_:
                        first, last = (entities.setdefault(name, _entity(source_id, name)) for name in (subject, object_))
                        confidence = round(chance.uniform(0.7, 1.0), 3)
                        triples.append(_triple(len(triples), (first, predicate, last), evidence[-1], call, confidence))
            start += len(text) + 1
        parts = {"chunks": tuple(chunks), "evidence": tuple(evidence), "triples": tuple(triples), "calls": (call,)}
        ordered = tuple(sorted(entities.values(), key=lambda item: item.name))
        return Subgraph(source=document, settings_hash="scale", created_at=TIME, entities=ordered, **parts), vectors

    def question(self, number: int) -> tuple[Query, np.ndarray]:
        """Return a question, and its vector."""
        chance = random.Random(10**9 + number)
        subgraph, vectors = self.document(chance.randrange(self.documents))
        item = chance.choice(subgraph.evidence)
        words = [word for word in item.text.rstrip(".").split() if word not in _FUNCTION_WORDS]
        name = next(triple.subject for triple in subgraph.triples if triple.evidence_id == item.id)
        text = f"What does {name} have to do with {' and '.join(chance.sample(words, 4))}?"
        query = Query(id=query_id(NAMESPACE, text), namespace=NAMESPACE, text=text)
        return query, noisy(vectors[item.id], 10**6 + number, NOISE / 2)


def _text(chance: random.Random, names: Sequence[str], predicates: Sequence[str]) -> str:
    words = chance.choices(VOCABULARY, cum_weights=WEIGHTS, k=chance.randint(6, 14))
    clauses = [f"{names[2 * n]} {predicates[n].replace('_', ' ')} {names[2 * n + 1]}" for n in range(2)]
    return f"{clauses[0]} {' '.join(words)} and {clauses[1]}."


def _entity(source_id: str, name: str) -> Entity:
    return Entity(id=content_id(NAMESPACE, "entity", source_id, name), source_id=source_id, name=name)


def _triple(rank: int, fact: tuple[Entity, str, Entity], evidence: Evidence, call: TeacherCall, confidence: float) -> Triple:
    subject, predicate, object_ = fact
    return Triple(
        id=content_id(NAMESPACE, "triple", call.source_id, str(rank)),
        source_id=call.source_id,
        subject_id=subject.id,
        subject=subject.name,
        predicate=predicate,
        predicate_key=predicate,
        object_id=object_.id,
        object=object_.name,
        confidence=confidence,
        evidence_id=evidence.id,
        call_ids=(call.id,),
        rank=rank,
    )


class GivenVectors:
    """An embedder that knows the vectors of the questions; those of other texts are random."""

    name, dimension = "bench-vectors", DIMENSION

    def __init__(self, questions: Mapping[str, np.ndarray]) -> None:
        self._questions = questions

    def embed(self, texts: Sequence[str]) -> Vectors:
        seeds = [zlib.crc32(text.encode()) for text in texts]
        return np.array([unit(np.random.default_rng(seed).standard_normal(DIMENSION)) for seed in seeds], dtype=np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.array([self._questions[text] for text in texts], dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Watch:
    """Adds up elapsed and processor milliseconds by name."""

    def __init__(self) -> None:
        self.elapsed: dict[str, float] = {}
        self.processor: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        began, spent = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.elapsed[name] = self.elapsed.get(name, 0.0) + 1000 * (time.perf_counter() - began)
            self.processor[name] = self.processor.get(name, 0.0) + 1000 * (time.process_time() - spent)


class TimedSearcher(Searcher):
    """Times the walk."""

    def __init__(self, store: GraphStore, embedder: Embedder, watch: Watch) -> None:
        super().__init__(TimedStore(store, watch), embedder)  # type: ignore[arg-type]
        self._watch = watch

    def _walk(self, *args: Any) -> dict[str, float]:
        with self._watch("walk"):
            return super()._walk(*args)


class TimedSearch:
    """`store.search` with a watch on each method."""

    def __init__(self, search: Any, watch: Watch) -> None:
        self._search, self._watch = search, watch

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._search, name)

        def timed(*args: Any, **values: Any) -> Any:
            with self._watch(name):
                return method(*args, **values)

        return timed


class TimedStore:
    """A store with a `TimedSearch`."""

    def __init__(self, store: GraphStore, watch: Watch) -> None:
        self.search = TimedSearch(store.search, watch)


def fill(store: GraphStore, corpus: Corpus, batch: int, seconds: float) -> tuple[int, float]:
    """Write the documents; return how many were written, and the seconds that `save` took. It ends early after `seconds`."""
    took, began, done = 0.0, time.monotonic(), 0
    for start in range(0, corpus.documents, batch):
        made = [corpus.document(number) for number in range(start, min(start + batch, corpus.documents))]
        vectors = {id_: vector for _, own in made for id_, vector in own.items()}
        since = time.perf_counter()
        store.save([subgraph for subgraph, _ in made], AGGREGATION, vectors=vectors)
        took += time.perf_counter() - since
        done += len(made)
        if time.monotonic() - began > seconds:
            break
    return done, took


def search(store: GraphStore, corpus: Corpus) -> dict[str, Any]:
    """Return what searches and their parts take: medians and 90th percentiles, elapsed and of this process."""
    questions = [corpus.question(number) for number in range(QUESTIONS + WARM_UP)]
    embedder, watches = GivenVectors({query.text: vector for query, vector in questions}), list[Watch]()
    for query, vector in questions:
        watch = Watch()
        searcher = TimedSearcher(store, embedder, watch)
        with watch("whole"):
            findings = searcher.findings(searcher.near(query), [])
        assert findings.passages, f"nothing was found for {query.text}"
        if isinstance(store, LadybugStore):
            index = store.search.index("evidence")
            with watch("vectors"):
                index.nearest(vector[None, :], 200)
        watches.append(watch)
    watches = watches[WARM_UP:]
    return {name: _summary(watches, name) for name in PARTS if any(name in watch.elapsed for watch in watches)}


def _summary(watches: Sequence[Watch], name: str) -> dict[str, float]:
    elapsed, processor = (
        [one.get(name, 0.0) for one in column]
        for column in zip(*((watch.elapsed, watch.processor) for watch in watches), strict=True)
    )
    return {
        "p50": statistics.median(elapsed),
        "p90": _at(elapsed, 0.9),
        "cpu50": statistics.median(processor),
        "cpu90": _at(processor, 0.9),
    }


def _at(column: Sequence[float], part: float) -> float:
    return sorted(column)[int(part * (len(column) - 1))]


def one_more(store: GraphStore, corpus: Corpus, number: int) -> dict[str, float]:
    """Add a document with a new number; return the seconds until it is written, indexed and searched."""
    subgraph, vectors = corpus.document(number)
    query, vector = corpus.question(0)
    searcher = Searcher(store, GivenVectors({query.text: vector}))
    return {
        "save": _seconds(lambda: store.save([subgraph], AGGREGATION, vectors=vectors)),
        "index": _seconds(store.prepare_search),
        "first search": _seconds(lambda: searcher.findings(searcher.near(query), [])),
    }


def link(store: GraphStore, seconds: float) -> float | None:
    """Link; return the seconds, or None if it takes too long."""
    interruption, began = Interruption(), time.perf_counter()
    timer = threading.Timer(seconds, interruption.interrupt)
    timer.start()
    try:
        Linker(
            store.concepts,
            NAMESPACE,
            GivenVectors({}),
            lambda: datetime.now(UTC).isoformat(timespec="seconds"),
            interruption=interruption,
        ).run()
    except Interrupted:
        return None
    finally:
        timer.cancel()
    return time.perf_counter() - began


def files_of(path: Path) -> tuple[int, int]:
    """Return the bytes of an embedded store and of its full-text index."""
    sizes = {file.name: file.stat().st_size for file in path.parent.iterdir() if file.name.startswith(path.name)}
    index = sum(size for name, size in sizes.items() if ".search" in name)
    return sum(sizes.values()) - index, index


def measure(open_store: Callable[[], GraphStore], size: int, batch: int, path: Path | None, seconds: float) -> dict[str, Any]:
    """Return what is measured before and after `link`."""
    corpus, row = Corpus(size), dict[str, Any]()
    with open_store() as store:
        store.migrate()
        corpus.documents, row["seconds to write"] = fill(store, corpus, batch, seconds)
        row["passages"] = corpus.documents * CHUNKS * PASSAGES
        row["seconds to index"] = _seconds(store.prepare_search)
        row["before link"] = search(store, corpus)
        row["one more document"] = one_more(store, corpus, 10**7)
    print(shown(row), flush=True)
    with open_store() as store:
        if path is not None:
            row["store bytes"], row["index bytes"] = files_of(path)
        row["seconds to link"] = link(store, seconds)
        row["seconds to index after link"] = _seconds(store.prepare_search)
        if row["seconds to link"] is not None:
            row["after link"] = search(store, corpus)
            row["one more document after link"] = one_more(store, corpus, 10**7 + 1)
    print(shown(row), flush=True)
    return row


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def shown(row: Mapping[str, Any]) -> str:
    times = "".join(
        f"\n  {when}: "
        + ", ".join(
            f"{name} {one['p50']:.1f} ({one['p90']:.1f}; {one['cpu50']:.1f}, {one['cpu90']:.1f})"
            for name, one in row[when].items()
        )
        + " ms"
        for when in ("before link", "after link")
        if when in row
    )
    more = "".join(
        f"\n  {key}: " + ", ".join(f"{name} {value:.2f}" for name, value in row[key].items()) + " s"
        for key in ("one more document", "one more document after link")
        if key in row
    )
    return ", ".join(f"{key} {value:,.1f}" for key, value in row.items() if isinstance(value, int | float)) + times + more


def main() -> None:
    """Measure at each size and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="bolt://... of a new Neo4j; without it, the embedded engine")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000], help="numbers of passages")
    parser.add_argument("--batch", type=int, default=20, help="documents a transaction")
    parser.add_argument("--seconds", type=float, default=600, help="time limit in seconds for writing, and again for `link`")
    parser.add_argument("--folder", type=Path, help="where embedded stores are made; they stay")
    parser.add_argument("--json", type=Path, help="write what was measured to this file")
    options = parser.parse_args()
    made_by = {"version": __version__, "python": platform.python_version(), "cores": os.cpu_count(), "command": sys.argv}
    rows = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as temporary:
            path = None if options.store else (options.folder or Path(temporary)) / f"scale-{size}.lbug"
            rows.append(measure(partial(_open, options.store, path), size, options.batch, path, options.seconds))
        if options.json:
            options.json.write_text(json.dumps({"made_by": made_by, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def _open(address: str | None, path: Path | None) -> GraphStore:
    if path is not None:
        return LadybugStore(path, namespace=NAMESPACE)
    login = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", ""))
    return Neo4jStore(str(address), username=login[0], password=login[1], namespace=NAMESPACE)


if __name__ == "__main__":
    main()
