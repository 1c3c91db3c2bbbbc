"""The documents and questions that `bench/edges.py` measures on, and the edges that are made of them by our own commands' code.

Four public corpora: LiHua-World and MultiHop-RAG, whose questions name the documents that answer them, and the medical part of
GraphRAG-Bench and UltraDomain's mix, whose questions are known by their corpus alone. What is made once is kept in a folder.
"""

import json
import random
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from drag_graph.app.resources import Resources
from drag_graph.compose.document_setup import make_communities, make_ingester
from drag_graph.documents.document_files import files_in
from drag_graph.settings import Settings, load_settings

CORPORA = ("lihua", "medical", "mix", "multihop")
MORE_CORPORA = (*CORPORA, "hops")
"""With the corpus of `bench/hops.py`. Each of its questions (MuSiQue) needs several passages."""
SEED = 14


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a corpus. Of `gold`, each set has the documents that say one and the same thing that the answer needs."""

    id: str
    corpus: str
    text: str
    answer: str = ""
    gold: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Setup:
    """Edges by name, with the documents of each, and one graph that holds those of all."""

    name: str
    edges: Mapping[str, Mapping[str, str]]

    @property
    def all(self) -> dict[str, str]:
        return {name: text for documents in self.edges.values() for name, text in documents.items()}


def is_for_fitting(id_: str) -> bool:
    """Return whether a question is in the half that weights are fitted on, by a hash of its id."""
    return sha256(id_.encode()).digest()[-1] % 2 == 0


def rows(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def documents(data: Path, corpus: str) -> dict[str, str]:
    """Return the texts of a corpus by the name of their document."""
    match corpus:
        case "medical":
            lines = (data / "graphrag_bench_medical.corpus.txt").read_text(encoding="utf-8").splitlines()
            return {f"medical-{number:02}": line for number, line in enumerate(lines) if line.strip()}
        case "hops":
            return {row["id"]: f"{row['title']}\n\n{row['text']}" for row in rows(data / "multihop.docs.jsonl")}
        case _:
            file = {"lihua": "lihua_world", "mix": "ultradomain_mix", "multihop": "multihoprag_small"}[corpus]
            return {row["id"]: row["text"] for row in rows(data / f"{file}.docs.jsonl")}


def questions(data: Path, corpus: str) -> list[Question]:
    """Return the questions of a corpus; of LiHua-World those that its documents answer."""
    match corpus:
        case "lihua":
            found = [
                Question(row["id"], corpus, row["question"], row["answer_text"], _each(row["evidence_doc_ids"]))
                for row in rows(data / "lihua_world_qa.jsonl")
                if row["evidence_doc_ids"]
            ]
        case "medical":
            found = [
                Question(row["id"], corpus, row["question"], row["answer_text"])
                for row in rows(data / "graphrag_bench_medical.jsonl")
            ]
        case "hops":
            found = [
                Question(row["id"], corpus, row["question"], row["answer"], _each(row["evidence_doc_ids"]))
                for row in rows(data / "multihop.jsonl")
            ]
        case "mix":
            found = [
                Question(row["id"], corpus, row["question"])
                for row in rows(data / "ultradomain_queries.jsonl")
                if row["dataset"] == "ultradomain/mix"
            ]
        case _:
            titled = rows(data / "multihoprag_small.docs.jsonl")
            found = [
                Question(row["id"], corpus, row["question"], row["answer_text"], _titled(row["evidence_meta"], titled))
                for row in rows(data / "multihoprag_small.jsonl")
            ]
    return found


def drawn(data: Path, corpora: Iterable[str], number: int, half: str) -> list[Question]:
    """Return at most `number` questions of each corpus, always the same ones: of the first half (`dev`), the second, or all."""
    found = []
    for corpus in corpora:
        every = sorted(questions(data, corpus), key=lambda one: one.id)
        random.Random(SEED).shuffle(every)
        some = {"dev": every[::2], "test": every[1::2], "all": every}[half]
        found += some[:number]
    return found


def setup(data: Path, name: str, corpora: Sequence[str] = CORPORA) -> Setup:
    """Return `domains`, whose edges have one of the corpora each, or a corpus that is split by document over four edges."""
    if name == "domains":
        return Setup(name, {corpus: documents(data, corpus) for corpus in corpora})
    shuffled = sorted(documents(data, name).items())
    random.Random(SEED).shuffle(shuffled)
    return Setup(name, {f"{name}-{part}": dict(shuffled[part::4]) for part in range(4)})


def made(folder: Path, name: str, texts: Mapping[str, str], embedder: str) -> Settings:
    """Return the settings of a store that has read these documents in, linked them and found their communities."""
    library, store = folder / "library" / name, folder / embedder / f"{name}.lbug"
    settings = load_settings({"store": str(store), "embedder": embedder, "privacy": "off", "workers": 2})
    done = store.with_suffix(".json")
    if done.exists():
        return settings
    library.mkdir(parents=True, exist_ok=True)
    store.parent.mkdir(parents=True, exist_ok=True)
    for id_, text in texts.items():
        (library / f"{id_}.txt").write_text(text, encoding="utf-8")
    facts: dict[str, float] = {"documents": len(texts), "bytes": sum(len(text.encode()) for text in texts.values())}
    began = time.process_time()
    with Resources(settings).writing(role="extractor") as session:
        totals = make_ingester(session, name).run(files_in([library])).totals()
        assert totals["added"] + totals["unchanged"] == len(texts), totals
        facts |= {"evidence": totals["evidence"], "triples": totals["triples"], "ingest_s": _since(began)}
        began = time.process_time()
        session.linker().run()
        facts["link_s"] = _since(began)
    began = time.process_time()
    with Resources(settings).writing(role="summariser") as session:
        report = make_communities(session).run()
        facts |= {"communities": report.totals()["communities"], "communities_s": _since(began)}
    done.write_text(json.dumps(facts), encoding="utf-8")
    return settings


def facts(settings: Settings) -> dict[str, float]:
    """Return what making a store took, and what it has."""
    found: dict[str, float] = json.loads(Path(settings.store).with_suffix(".json").read_text(encoding="utf-8"))
    return found


def recall(gold: Sequence[Collection[str]], found: Collection[str]) -> float:
    """Return the share of what the answer needs that is in these documents."""
    return sum(not wanted.isdisjoint(found) for wanted in map(set, gold)) / len(gold)


def _since(began: float) -> float:
    return round(time.process_time() - began, 1)


def _each(ids: Iterable[str]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset([id_]) for id_ in dict.fromkeys(ids))


def _titled(wanted: Iterable[dict], titled: Sequence[dict]) -> tuple[frozenset[str], ...]:
    """Return the documents of each title that is named; some are there twice."""
    titles = dict.fromkeys(one["title"] for one in wanted)
    return tuple(frozenset(row["id"] for row in titled if row["title"] == title) for title in titles)
