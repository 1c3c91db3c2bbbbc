"""`graph.overview`: the whole graph."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from drag_graph.app.resource_user import ResourceUser
from drag_graph.compose.model_factories import asked_as
from drag_graph.manage.graph_statistics import Group, Statistics, components, links, names_of, shared_things, statistics
from drag_graph.manage.short_ids import stored_subgraph
from drag_graph.manage.source_listing import newest_sources
from drag_graph.model import Answer, Subgraph
from drag_graph.report.audit_document import stored_answer
from drag_graph.report.graph_picture import GraphPicture, groups_picture, picture_of

FACTS_AROUND, SOURCES_AROUND = 30, 10
"""Maximum number of triples per entity, and of sources, of which a picture shows neighbours."""


@dataclass(frozen=True, slots=True)
class SharedConcept:
    """A concept, the number of sources with an edge to it, and the number of these edges."""

    id: str
    name: str
    sources: int
    edges: int


@dataclass(frozen=True, slots=True)
class TopConcepts:
    """The concepts shared by most sources, and the stored queries, documents and concepts."""

    concepts: tuple[SharedConcept, ...]
    counts: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return the `graph top --json` document."""
        return {"concepts": [asdict(item) for item in self.concepts]}


@dataclass(frozen=True, slots=True)
class Components:
    """The largest connected components, their total number, and the names of their members by id."""

    number: int
    groups: tuple[Group, ...]
    names: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the `graph components --json` document."""
        groups = [
            {"members": [{"id": id_, "name": self.names.get(id_, id_)} for id_ in group.members], "edges": group.edges}
            for group in self.groups
        ]
        return {"number": self.number, "groups": groups}


class OverviewGroup(ResourceUser):
    """Measure the whole graph of a namespace."""

    def stats(self, *, limit: int = 10) -> Statistics:
        """Return sizes, degrees, and up to `limit` each of the weakest edges and the contradictions."""
        with self._resources.store() as store:
            return statistics(store.linked_edges, store.counts(), limit)

    def top(self, *, limit: int = 20) -> TopConcepts:
        """Return up to `limit` concepts that at least two sources have edges to, most sources first."""
        with self._resources.store() as store:
            things = shared_things(store.linked_edges(), limit)
            names = names_of(store.linked_edges(), [item.id for item in things])
            concepts = tuple(SharedConcept(item.id, names[item.id], item.sources, item.edges) for item in things)
            return TopConcepts(concepts, store.counts())

    def components(self, *, limit: int = 10) -> Components:
        """Return up to `limit` connected components of the simple edges, largest first."""
        with self._resources.store() as store:
            groups = components(links(store.linked_edges()))
            members = {id_ for group in groups[:limit] for id_ in group.members}
            return Components(len(groups), tuple(groups[:limit]), names_of(store.linked_edges(), members))

    def components_picture(self, *, limit: int = 10) -> GraphPicture:
        """Return a picture of the same components; components too large for it are cut."""
        with self._resources.store() as store:
            groups = components(links(store.linked_edges()))[:limit]
            return groups_picture(f"Connected components of {store.location}", groups, store.linked_edges())

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


def _behind(answer: Answer, graphs: Iterable[Subgraph]) -> set[str]:
    """Return the ids of the edges that an answer was shown, or whose evidence it was shown."""
    seen = {id_ for line in answer.lines for id_ in (line.ref, *line.evidence_ids)}
    edges = (edge for graph in graphs for edge in graph.usable_edges)
    return {edge.id for edge in edges if edge.id in seen or not seen.isdisjoint(edge.evidence_ids)}
