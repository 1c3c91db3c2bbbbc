"""Baselines to compare the distilled evidence with: passages of documents, found by BM25 or by cosine (naive RAG).

A student sees the passages as the evidence of a subgraph that is never stored.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from drag_graph.errors import InputError, MissingExtra
from drag_graph.evaluation.evaluation_run import LinesOf
from drag_graph.graph.paging import pages
from drag_graph.identity import content_id, sha256_of
from drag_graph.model import Evidence, Query, Subgraph, TeacherCall
from drag_graph.ports.model_roles import Embedder

Baseline = Literal["bm25", "cosine"]
PASSAGE_WORDS = 120
PASSAGES = 10
"""Passages shown if `max_lines` is not set."""
_PAGE = 256

Find = Callable[[str], list[str]]
"""Returns the passages for a question, best first."""


def read_passages(place: Path) -> list[str]:
    """Return the passages of a file, or of all files of a folder, without repetitions.

    A passage is a paragraph of a .txt or .md file, or the `text` of a row of a .jsonl file, cut after 120 words. Raises
    InputError if there is none.
    """
    passages = [passage for path in _files(place) for text in _texts(path) for passage in cut(text)]
    if not passages:
        raise InputError(f"{place} has no document.", hint="Pass a .txt, .md or .jsonl file, or a folder of them.")
    return list(dict.fromkeys(passages))


def _files(place: Path) -> list[Path]:
    return [path for path in (sorted(place.rglob("*")) if place.is_dir() else [place]) if path.is_file()]


def _texts(path: Path) -> Iterator[str]:
    try:
        if path.suffix in {".txt", ".md"}:
            yield from path.read_text(encoding="utf-8").split("\n\n")
        elif path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as file:
                yield from (str(json.loads(line)["text"]) for line in file if line.strip())
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = 'Text files must be UTF-8, and rows of a .jsonl file need a "text".'
        raise InputError(f"Cannot read {path}: {error}.", hint=hint) from error


def cut(text: str) -> Iterator[str]:
    """Yield a text in passages of up to 120 words."""
    words = text.split()
    for start in range(0, len(words), PASSAGE_WORDS):
        yield " ".join(words[start : start + PASSAGE_WORDS])


def by_bm25(passages: Sequence[str], number: int) -> Find:
    """Return a search for `number` passages by BM25 (bm25s, Lucene variant, English stop words). Raises MissingExtra."""
    try:
        import bm25s
    except ImportError as error:
        raise MissingExtra("The baseline bm25 needs the package bm25s.", extra="evaluation") from error

    def tokens(texts: Sequence[str]) -> Any:
        return bm25s.tokenize(list(texts), stopwords="en", show_progress=False)

    indexed = tokens(passages)
    if not any(indexed.ids):
        raise InputError("The documents contain no searchable word.", hint="Pass other documents.")
    index = bm25s.BM25()
    index.index(indexed, show_progress=False)

    def find(question: str) -> list[str]:
        places, scores = index.retrieve(tokens([question]), k=min(number, len(passages)), show_progress=False)
        return [passages[place] for place, score in zip(places[0], scores[0], strict=True) if score > 0]

    return find


def by_cosine(passages: Sequence[str], embedder: Embedder, number: int) -> Find:
    """Return a search for `number` passages by the cosine of question and passage."""
    vectors = np.concatenate([embedder.embed(page) for page in pages(passages, _PAGE)])

    def find(question: str) -> list[str]:
        cosines = vectors @ embedder.embed_queries([question])[0]
        return [passages[place] for place in np.argsort(-cosines, kind="stable")[:number]]

    return find


def passage_lines(baseline: Baseline, passages: Sequence[str], number: int, embedder: Embedder) -> LinesOf:
    """Show each item the `number` best passages for its question. Raises MissingExtra."""
    find = by_bm25(passages, number) if baseline == "bm25" else by_cosine(passages, embedder, number)
    return lambda items: [[subgraph_of(item.query, find(item.query.text), baseline)] for item in items]


def subgraph_of(query: Query, passages: Sequence[str], baseline: Baseline) -> Subgraph:
    """Return a subgraph with the passages as evidence, in their order, and the search as its teacher call."""
    call = TeacherCall(
        id=content_id(query.namespace, "call", query.id, baseline),
        source_id=query.id,
        stage="evidence",
        model=baseline,
        prompt_version=baseline,
        request_sha256=sha256_of(query.text),
        response_sha256=sha256_of(list(passages)),
    )
    evidence = tuple(
        Evidence(
            id=content_id(query.namespace, "evidence", query.id, baseline, text),
            source_id=query.id,
            text=text,
            position=place,
            rank=place,
            call_ids=(call.id,),
        )
        for place, text in enumerate(passages)
    )
    return Subgraph(source=query, settings_hash=baseline, graph="evidence_only", evidence=evidence, calls=(call,))
