"""The method that searches without a student."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drag_graph.app.questions import one_question
from drag_graph.app.resource_user import ResourceUser
from drag_graph.ask.find_lines import SourceHit
from drag_graph.ask.line_weights import Weighed
from drag_graph.errors import ConfigurationError
from drag_graph.model import Line
from drag_graph.ports.graph_search import Restriction

LIMIT = 10
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, best first: sources, and context lines of these within the token budget."""

    sources: tuple[SourceHit, ...]
    lines: tuple[Line, ...]
    weighed: Mapping[str, Weighed]

    @property
    def spans(self) -> tuple[Line, ...]:
        """The texts of documents, and the evidence of queries."""
        return tuple(line for line in self.lines if line.kind != "edge")

    @property
    def edges(self) -> tuple[Line, ...]:
        """The edges of the graph."""
        return tuple(line for line in self.lines if line.kind == "edge")

    def to_dict(self) -> dict[str, Any]:
        """Return the `search --json` document."""
        return {
            "sources": [
                {
                    "id": source.id,
                    "name": source.title,
                    "kind": "document" if source.is_document else "query",
                    **({"date": source.date} if source.date else {}),
                    "score": source.score,
                    "lists": _lists(source.ranks),
                }
                for source in self.sources
            ],
            "spans": [self._line(line) for line in self.spans],
            "edges": [self._line(line) for line in self.edges],
        }

    def _line(self, line: Line) -> dict[str, Any]:
        weighed = self.weighed.get(line.ref)
        facts = line.model_dump(include={"kind", "text", "ref", "source_id", "score"})
        return {**facts, "lists": _lists(weighed.ranks if weighed else ())}


class Searching(ResourceUser):
    """Search what is stored."""

    def search(
        self,
        text: str,
        *,
        limit: int = LIMIT,
        sources: Sequence[str] = (),
        since: str = "",
        until: str = "",
        tags: Sequence[str] = (),
        **settings: Any,
    ) -> SearchResult:
        """Return sources, texts and edges for a question or some words, best first, up to `limit` sources.

        This is the retrieval of `ask` without a student and without a threshold. `sources` are ids or patterns of names,
        `since` and `until` dates (YYYY, YYYY-MM or YYYY-MM-DD); `tags` are those of `ingest`.

        Raises Withheld if the privacy gate does not let the text pass.
        """
        if limit < 1:
            raise ConfigurationError(f"The limit is {limit}.", hint="Pass 1 or more.")
        only = restriction(sources, since, until, tags)
        resources = self._resources.changed(settings)
        query = one_question(text, (), resources.settings)
        with resources.reading(asks=True) as session:
            found, selection = session.asker(unkept="not an answer", only=only).search(query, limit)
        return SearchResult(found.sources, selection.lines, found.weighed)


def restriction(sources: Sequence[str], since: str, until: str, tags: Sequence[str]) -> Restriction:
    """Return a restriction of a search. Raises ConfigurationError for a date that is none."""
    for date in filter(None, (since, until)):
        if not _DATE.fullmatch(date):
            raise ConfigurationError(f"{date!r} is not a date.", hint="Write YYYY, YYYY-MM or YYYY-MM-DD.")
    return Restriction(tuple([sources] if isinstance(sources, str) else sources), since, until, tuple(tags))


def _lists(ranks: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"list": name, "rank": rank} for name, rank in ranks]
