"""Baselines to compare our lines with: plain pieces of documents, found by BM25 or by cosine (naive RAG).

A student sees the best pieces that fill its token budget, as the evidence of a document that is never stored.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

import numpy as np

from drag_graph.ask.context_lines import CountTokens
from drag_graph.errors import InputError, MissingExtra
from drag_graph.evaluation.evaluation_run import LinesOf
from drag_graph.evaluation.tasks import TaskItem
from drag_graph.graph.edge_text import one_line
from drag_graph.graph.paging import pages
from drag_graph.identity import content_id, sha256_of
from drag_graph.model import Document, Evidence, Query, Subgraph, TeacherCall
from drag_graph.ports.model_roles import Embedder

Baseline = Literal["bm25", "cosine"]
PIECE = 1200
"""Maximum number of characters in a piece. Of 400 and 1,200, these contain more answers (docs/measurements/search.md)."""
_PAGE = 256
_NUMBER = 5
"""Maximum number of tokens of a line's number and end."""

Find = Callable[[str], Iterable[str]]
"""Returns the passages for a question, best first."""


def read_passages(place: Path) -> list[str]:
    """Return the pieces of a file, or of all files of a folder, without repetitions. Raises InputError if there is none.

    A document is a .txt or .md file, or the `text` of a row of a .jsonl file.
    """
    paths = sorted(place.rglob("*")) if place.is_dir() else [place]
    passages = [passage for path in paths if path.is_file() for text in _texts(path) for passage in cut(text)]
    if not passages:
        raise InputError(f"{place} has no document.", hint="Pass a .txt, .md or .jsonl file, or a folder of them.")
    return list(dict.fromkeys(passages))


def _texts(path: Path) -> Iterator[str]:
    try:
        if path.suffix in {".txt", ".md"}:
            yield path.read_text(encoding="utf-8")
        elif path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as file:
                yield from (str(json.loads(line)["text"]) for line in file if line.strip())
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = 'Text files must be UTF-8, and rows of a .jsonl file need a "text".'
        raise InputError(f"Cannot read {path}: {error}.", hint=hint) from error


def cut(text: str) -> Iterator[str]:
    """Yield the lines of a text, joined to pieces of up to `PIECE` characters. A longer line is cut between words."""
    piece = ""
    for line in filter(str.strip, text.splitlines()):
        for part in wrap(line, PIECE) if len(line) > PIECE else [line]:
            if piece and len(piece) + 1 + len(part) > PIECE:
                yield piece
                piece = ""
            piece = f"{piece}\n{part}" if piece else part
    if piece:
        yield piece


def by_bm25(passages: Sequence[str]) -> Find:
    """Return a search for passages by BM25 (bm25s, Lucene variant, English stop words). Raises MissingExtra."""
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
        places, scores = index.retrieve(tokens([question]), k=len(passages), show_progress=False)
        return [passages[place] for place, score in zip(places[0], scores[0], strict=True) if score > 0]

    return find


def by_cosine(passages: Sequence[str], embedder: Embedder) -> Find:
    """Return a search for passages by the cosine of question and passage."""
    vectors = np.concatenate([embedder.embed(page) for page in pages(passages, _PAGE)])

    def find(question: str) -> Iterator[str]:
        cosines = vectors @ embedder.embed_queries([question])[0]
        return (passages[place] for place in np.argsort(-cosines, kind="stable"))

    return find


def passage_lines(
    baseline: Baseline, passages: Sequence[str], embedder: Embedder, *, count_tokens: CountTokens, token_budget: int
) -> LinesOf:
    """Show each item the best passages for its question that fill the token budget. Raises MissingExtra."""
    find = by_bm25(passages) if baseline == "bm25" else by_cosine(passages, embedder)

    def lines_of(items: Sequence[TaskItem]) -> list[Sequence[Subgraph]]:
        texts = [filled(find(item.query.text), count_tokens, token_budget) for item in items]
        return [[subgraph_of(item.query, fitting, baseline)] for item, fitting in zip(items, texts, strict=True)]

    return lines_of


def filled(passages: Iterable[str], count_tokens: CountTokens, token_budget: int) -> list[str]:
    """Return the first passages that fill a token budget, each as one line. The last one is cut between words."""
    fitting, left = list[str](), token_budget
    for text in map(one_line, passages):
        part, tokens = text, count_tokens(text) + _NUMBER
        while part and tokens > left:
            part = part[: int(0.99 * len(part) * max(left, 0) / tokens)].rpartition(" ")[0]
            tokens = count_tokens(part) + _NUMBER
        left -= tokens
        fitting += filter(None, [part])
        if part != text:
            break
    return fitting


def subgraph_of(query: Query, passages: Sequence[str], baseline: Baseline) -> Subgraph:
    """Return the passages for a question as evidence of a document, in their order, with the search as its teacher call."""
    source = Document(id=content_id(query.namespace, "document", query.id, baseline), namespace=query.namespace, name=baseline)
    call = TeacherCall(
        id=content_id(query.namespace, "call", query.id, baseline),
        source_id=source.id,
        stage="evidence",
        model=baseline,
        prompt_version=baseline,
        request_sha256=sha256_of(query.text),
        response_sha256=sha256_of(list(passages)),
    )
    evidence = tuple(
        Evidence(
            id=content_id(query.namespace, "evidence", query.id, baseline, text),
            source_id=source.id,
            text=text,
            position=place,
            rank=place,
            call_ids=(call.id,),
        )
        for place, text in enumerate(passages)
    )
    return Subgraph(source=source, settings_hash=baseline, graph="evidence_only", evidence=evidence, calls=(call,))
