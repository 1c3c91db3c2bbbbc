"""Methods that search without a student, and draw what is stored: search, picture."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drag_graph.app.questions import one_question, restriction
from drag_graph.app.resources import ResourceUser
from drag_graph.ask.audit_snapshot import places_of, snapshot
from drag_graph.ask.context_lines import Weighed
from drag_graph.ask.find_lines import SourceHit
from drag_graph.compose.model_factories import asked_as
from drag_graph.errors import ConfigurationError
from drag_graph.graph.rejected_claims import claims_of_edges
from drag_graph.manage.short_ids import newest_sources, stored_subgraph
from drag_graph.model import Answer, Line, Subgraph
from drag_graph.models.model_choice import NEAREST
from drag_graph.report.audit_document import stored_answer
from drag_graph.report.graph_picture import GraphPicture, picture_of

LIMIT = 10
FACTS_AROUND, SOURCES_AROUND = 30, 10
"""Maximum number of triples per entity, and of sources, of which a picture shows neighbours."""
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

    def _line(self, line: Line) -> dict[str, Any]:
        facts = line.model_dump(include={"kind", "ref", "source_id", "score"})
        place = {"document": dict(self.documents[line.n])} if line.n in self.documents else {}
        claims = {"claims": list(self.claims[line.ref])} if line.kind == "edge" else {}
        weighed = self.weighed.get(line.ref)
        lists = {"lists": _lists(weighed.ranks if weighed else ())}
        return {"text": line.text.removeprefix(line.opening), **facts, **place, **claims, **lists}


class Searching(ResourceUser):
    """Search what is stored, and draw it."""

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

    def picture(
        self, source_ids: Sequence[str] = (), *, answer_id: str = "", around: Sequence[str] = (), limit: int = 5
    ) -> GraphPicture:
        """Return a picture of sources, of what an answer rests on, or of the edges around entities.

        Without any of these, it shows the `limit` newest sources. Source and answer ids may be shortened; `around` are ids of
        concepts or entities, as pictures have them.
        """
        with self._resources.store() as store:
            if answer_id:
                answer = stored_answer(store, answer_id)
                graphs = store.read(sorted({line.source_id for line in answer.lines if not line.site}))
                return picture_of(store, answer.question, graphs, _behind(answer, graphs))
            if around:
                facts = store.search.around(around, FACTS_AROUND)
                pairs = {(fact.subject_id, fact.object_id) for fact in facts}
                graphs = store.read(list(dict.fromkeys(fact.source_id for fact in facts))[:SOURCES_AROUND])
                edges = (edge for graph in graphs for edge in graph.usable_edges)
                return picture_of(store, "Neighbours", graphs, {e.id for e in edges if (e.subject_id, e.object_id) in pairs})
            if not source_ids:
                graphs = newest_sources(store, limit, 0)[0]
                return picture_of(store, "The newest sources", graphs)
            names = (asked_as(self._resources.settings, source_id) for source_id in source_ids)
            graphs = [stored_subgraph(store, *one, kind="source") for one in zip(source_ids, names, strict=True)]
            return picture_of(store, graphs[0].title if len(graphs) == 1 else f"{len(graphs)} sources", graphs)


def _lists(ranks: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"list": name, "rank": rank} for name, rank in ranks]


def _behind(answer: Answer, graphs: Iterable[Subgraph]) -> set[str]:
    """Return the ids of the edges that an answer was shown, or whose evidence it was shown."""
    seen = {id_ for line in answer.lines for id_ in (line.ref, *line.evidence_ids)}
    edges = (edge for graph in graphs for edge in graph.usable_edges)
    return {edge.id for edge in edges if edge.id in seen or not seen.isdisjoint(edge.evidence_ids)}
