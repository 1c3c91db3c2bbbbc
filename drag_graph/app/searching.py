"""The method that searches without a student."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drag_graph.app.questions import one_question
from drag_graph.app.resource_user import ResourceUser
from drag_graph.app.restrictions import restriction
from drag_graph.ask.audit_snapshot import places_of, snapshot
from drag_graph.ask.find_lines import SourceHit
from drag_graph.ask.line_weights import ListName, Weighed
from drag_graph.errors import ConfigurationError
from drag_graph.graph.rejected_claims import claims_of_edges
from drag_graph.model import Line
from drag_graph.models.model_choice import NEAREST

LIMIT = 10
NO_STUDENT = {"student": NEAREST, "student_base_url": "", "scoring": "auto", "mode": "combined"}
"""Settings of a search: all kinds of lines, no model but the embedder and the reranker."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, best first: sources, and context lines of these within the token budget.

    `location` names the store, `is_empty` says that nothing is stored there, `is_restricted` that only some of the sources were
    searched.
    """

    sources: tuple[SourceHit, ...]
    lines: tuple[Line, ...]
    weighed: Mapping[str, Weighed]
    documents: Mapping[int, Mapping[str, Any]]
    """The document passages behind lines, by line number."""
    claims: Mapping[str, Sequence[str]]
    """The ids of the claims of edges, by the id of the edge."""
    location: str
    is_empty: bool
    is_restricted: bool

    @property
    def reason(self) -> str:
        """Why nothing was found; empty if something was."""
        if self.sources:
            return ""
        if self.is_empty:
            return f"nothing is stored in {self.location}"
        return "nothing was found in the selected sources" if self.is_restricted else "nothing was found"

    @property
    def spans(self) -> tuple[Line, ...]:
        """The texts of documents, and the evidence of queries, best first."""
        return self._of_kind(is_edge=False)

    @property
    def edges(self) -> tuple[Line, ...]:
        """The edges of the graph, best first."""
        return self._of_kind(is_edge=True)

    def _of_kind(self, *, is_edge: bool) -> tuple[Line, ...]:
        lines = [line for line in self.lines if (line.kind == "edge") == is_edge]
        return tuple(sorted(lines, key=lambda line: (-line.score, line.n)))

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
            **({"reason": self.reason} if self.reason else {}),
        }

    def lists(self, line: Line) -> tuple[tuple[ListName, int], ...]:
        """Return the lists that found a line, each with its rank there."""
        weighed = self.weighed.get(line.ref)
        return weighed.ranks if weighed else ()

    def _line(self, line: Line) -> dict[str, Any]:
        facts = line.model_dump(include={"kind", "ref", "source_id", "score"})
        place = {"document": dict(self.documents[line.n])} if line.n in self.documents else {}
        claims = {"claims": list(self.claims[line.ref])} if line.kind == "edge" else {}
        lists = {"lists": _lists(self.lists(line))}
        return {"text": line.text.removeprefix(line.opening), **facts, **place, **claims, **lists}


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

        This is the retrieval of `ask` without a student and without a threshold. `sources` are ids, names, or patterns of names
        such as "*.md". `since` and `until` are dates (YYYY, YYYY-MM or YYYY-MM-DD). `tags` are those of `ingest`; one of them
        is enough. Tokens are counted as the student `nearest` does.

        Raises Withheld if the privacy gate does not let the text pass.
        """
        if limit < 1:
            raise ConfigurationError(f"The limit is {limit}.", hint="Pass 1 or more.")
        only = restriction(sources, since, until, tags)
        resources = self._resources.changed(NO_STUDENT).changed(settings)
        query = one_question(text, (), resources.settings)
        with resources.reading(asks=True) as session:
            found, selection = session.asker(unkept="not an answer", only=only).search(query, limit)
            store = session.store
            is_empty = not found.sources and not store.sources(limit=1)
            location = f"{store.location}, namespace {store.namespace}"
        documents = places_of(snapshot(query.text, selection.lines, found.subgraphs))
        claims = {id_: own for part in found.subgraphs for id_, own in claims_of_edges(part, part.usable_edges).items()}
        facts = (selection.lines, found.weighed, documents, claims)
        return SearchResult(found.sources, *facts, location, is_empty, bool(only))


def _lists(ranks: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"list": name, "rank": rank} for name, rank in ranks]
