"""`graph.overview`: the whole graph."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from drag_graph.app.resource_user import ResourceUser
from drag_graph.manage.graph_statistics import Group, Statistics, components, links, names_of, shared_things, statistics


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

    def components_page(self, *, limit: int = 10) -> str:
        """Return an HTML picture of the same components that opens offline; components too large for it are cut.

        Raises MissingExtra if neo4j-viz is not installed.
        """
        from drag_graph.report.groups_page import groups_page, shown_groups

        with self._resources.store() as store:
            groups = shown_groups(components(links(store.linked_edges()))[:limit])
            names = names_of(store.linked_edges(), {id_ for group in groups for id_ in group.members})
            return groups_page(f"Connected components of {store.location}", groups, links(store.linked_edges()), names)
