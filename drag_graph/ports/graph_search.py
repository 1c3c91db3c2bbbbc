"""The port for searching all subgraphs of a namespace (docs/explanation/pipeline.md; docs/decisions/0009-search.md).

`candidates` finds what is near to a question by words and by vectors. `units` returns what is around the hits, `around` what
the graph says of the things in them, and `subgraphs` everything that the chosen lines and their audit need.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Protocol

from drag_graph.model import Subgraph
from drag_graph.ports.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Hit:
    """A stored query. `score` is a cosine in [-1, 1], `text` the question."""

    id: str
    score: float
    text: str


SHORT_ID = 8
"""Number of characters from which the beginning of an id selects a source."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """Which sources may be searched: those that fulfil every condition.

    `sources` are ids (or the first `SHORT_ID` or more characters of them), names, or patterns of names (as `fnmatch` reads
    them; case does not matter). `since` and `until` are dates (ISO 8601; a month or a
    year is all of it) of documents; a query has the date of its distillation. `tags`: at least one of these.
    """

    sources: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sources or self.since or self.until or self.tags)


EVERYTHING = Restriction()


def is_within(only: Restriction, id_: str, title: str, date: str, tags: Collection[str]) -> bool:
    """Return whether a source fulfils a restriction. A source without a date is within no period."""
    name, patterns = title.casefold(), [pattern.casefold() for pattern in only.sources]
    named = not only.sources or any(
        pattern == name or fnmatchcase(name, pattern) or (len(pattern) >= SHORT_ID and id_.startswith(pattern))
        for pattern in patterns
    )
    # "2026" is before "2026-03" and, as a period, overlaps it: the shorter one of two dates decides.
    since = not only.since or (bool(date) and date >= only.since[: len(date)])
    until = not only.until or (bool(date) and date[: len(only.until)] <= only.until)
    return named and since and until and (not only.tags or not set(only.tags).isdisjoint(tags))


@dataclass(frozen=True, slots=True)
class Found:
    """Ids that a search found, with a score each: evidence by cosine and by words, and units by words (see `Unit`)."""

    by_vector: Mapping[str, float] = field(default_factory=dict)
    by_words: Mapping[str, float] = field(default_factory=dict)
    units_by_words: Mapping[str, float] = field(default_factory=dict)
    unit_of: Mapping[str, str] = field(default_factory=dict)
    """The unit of each piece of evidence above."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is stored near to a question; lists are best first, ties by id. `own` says whether the very question is stored."""

    own: bool = False
    queries: tuple[Hit, ...] = ()
    found: Found = Found()


@dataclass(frozen=True, slots=True)
class Passage:
    """A kept piece of evidence: in a document, the characters from `start` up to `end`.

    `terms` are its search terms, joined by blanks. `cosines` has one number for each vector that was passed.
    """

    id: str
    text: str
    position: int
    start: int
    end: int
    terms: str
    cosines: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple, as the walk over the graph needs it. `subject_node` and `object_node` are concepts, or entities without one."""

    id: str
    unit_id: str
    source_id: str
    evidence_id: str
    subject_id: str
    subject: str
    subject_node: str
    predicate: str
    object_id: str
    object: str
    object_node: str
    confidence: float
    predicate_key: str


@dataclass(frozen=True, slots=True)
class Unit:
    """What search ranks: a chunk of a document with its passages, or a query with its evidence.

    `title` is the document's name or the question, `text` that of the chunk, or "". `terms` are the search terms of title,
    headings and text, or of the question and its evidence, joined by blanks.
    """

    id: str
    source_id: str
    is_document: bool
    title: str
    date: str
    position: int
    start: int
    page: int | None
    heading: tuple[str, ...]
    text: str
    terms: str
    passages: tuple[Passage, ...]
    facts: tuple[Fact, ...] = ()


class GraphSearch(Protocol):
    """Searching one namespace. Thread-safe; raises as the methods of `drag_graph.ports.graph_store.GraphStore` do."""

    def candidates(
        self, vector: Sequence[float], terms: Sequence[str], k: int, *, source_id: str = "", only: Restriction = EVERYTHING
    ) -> Candidates:
        """Return what is near to a question, up to `k` in each list.

        Queries and kept evidence are compared by their cosine to `vector`, kept evidence and units by `terms`, which are search
        terms (`drag_graph.graph.search_terms`). A vector of zeros, or of another length than the stored ones, is near to
        nothing. `own` says whether the query `source_id` is stored.
        """

    def units(self, ids: Sequence[str], vectors: Vectors) -> list[Unit]:
        """Return the units of these ids, in any order; unknown ids are left out."""

    def around(self, nodes: Sequence[str], limit: int) -> list[Fact]:
        """Return up to `limit` facts about each of these concepts or entities, of the highest confidence first, then by id."""

    def subgraphs(self, evidence_ids: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[Subgraph]:
        """Return the parts of subgraphs that contain this evidence and the simple edges between these pairs of entities.

        Each part has its source, its calls, and the chunks, triples and evidence behind what was asked for. What is being
        written at this moment is left out.
        """
