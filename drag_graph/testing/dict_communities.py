"""The communities of the store in memory: the `CommunityStore` port over dictionaries."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from drag_graph.model import SimpleEdge, Subgraph
from drag_graph.ports.community_store import Community, CommunityChanges, CommunityHit
from drag_graph.ports.graph_store import LinkedEdge
from drag_graph.stores.shared.shared_rows import link, node
from drag_graph.testing.dict_concepts import Holding, written
from drag_graph.testing.dict_search import cosine


@dataclass
class Members:
    """The communities of one namespace, and which one each entity is in."""

    communities: dict[str, Community] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)

    def open(self, subgraph: Subgraph, content: Holding) -> set[str]:
        """Take from the communities of a subgraph's entities what rested on them; return their ids.

        To be called when the subgraph was erased or another is in its place.
        """
        touched = {self.of[item.id] for item in subgraph.entities if item.id in self.of}
        for id_ in touched:
            there = self.communities[id_]
            self.communities[id_] = replace(there, member_hash="", name="", summary="", summariser="", vector=None)
        left = written(content)
        for entity in [item.id for item in subgraph.entities if item.id not in left]:
            self.of.pop(entity, None)
        self.remove_empty(touched)
        return touched

    def remove_empty(self, ids: set[str]) -> None:
        """Remove those of these communities that no entity is in."""
        for id_ in (ids & self.communities.keys()) - set(self.of.values()):
            del self.communities[id_]


class HoldingMembers(Holding, Protocol):
    """What a namespace holds, as far as communities go."""

    members: Members


class DictCommunities:
    """The `CommunityStore` port; see there for what each method promises."""

    def __init__(self, namespace: str, lend: Callable[[], AbstractContextManager[HoldingMembers]]) -> None:
        self._namespace = namespace
        self._lend = lend

    def read(self, community_ids: Sequence[str] | None = None) -> Iterator[Community]:
        with self._lend() as content:
            communities, of = dict(content.members.communities), dict(content.members.of)
        for id_, item in sorted(communities.items()):
            if community_ids is not None:
                if id_ in community_ids:
                    yield replace(item, vector=None)
                continue
            yield replace(item, entities=tuple(sorted(entity for entity, one in of.items() if one == id_)), vector=None)

    def write(self, changes: CommunityChanges) -> int:
        with self._lend() as content:
            members = content.members
            for item in changes.communities:
                there = members.communities.get(item.id)
                same = there is not None and there.member_hash == item.member_hash
                summary_source = there if same else None
                members.communities[item.id] = replace(
                    item,
                    name=summary_source.name if summary_source else "",
                    summary=summary_source.summary if summary_source else "",
                    summariser=summary_source.summariser if summary_source else "",
                    vector=summary_source.vector if summary_source else None,
                    entities=(),
                )
            for entity in changes.left:
                members.of.pop(entity, None)
            entities = written(content)
            for entity, community in changes.joined:
                if entity in entities and entity not in members.of and community in members.communities:
                    members.of[entity] = community
            members.remove_empty(set(changes.gone))
            communities = members.communities
            unchanged = [
                item
                for item in changes.summarised
                if item.id in communities and communities[item.id].member_hash == item.member_hash
            ]
            for item in unchanged:
                summary = {name: getattr(item, name) for name in ("name", "summary", "summariser", "vector")}
                communities[item.id] = replace(communities[item.id], **summary)
            return len(unchanged)

    def nearest(self, vector: Sequence[float], k: int) -> list[CommunityHit]:
        with self._lend() as content:
            candidates = [item for item in content.members.communities.values() if item.vector is not None]
        near = [
            CommunityHit(item.id, cosine(vector, item.vector), item.name, item.summary)
            for item in candidates
            if item.vector is not None and any(vector) and len(item.vector) == len(vector)
        ]
        return sorted(near, key=lambda hit: (-hit.score, hit.id))[: max(k, 0)]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the communities and their members as records (`GraphStore.records`)."""
        with self._lend() as content:
            communities, of = list(content.members.communities.values()), dict(content.members.of)
        names = ("id", "member_hash", "name", "summary", "summariser", "level", "things", "edges", "sources")
        for item in communities:
            own = {name: getattr(item, name) for name in names}
            yield node("Community", item.id, {**own, "namespace": self._namespace, "embedding": item.vector})
        for entity, community in of.items():
            yield link("IN_COMMUNITY", entity, community, self._namespace)


def things_of(content: Holding) -> dict[str, str]:
    """Return which thing each linked entity is: the cluster of its concept, else the concept."""
    links = content.links
    return {id_: links.concepts[concept].cluster or concept for id_, concept in links.refers.items()}


def linked_edge(edge: SimpleEdge, thing: Mapping[str, str]) -> LinkedEdge:
    """Return a simple edge as one between things."""
    return LinkedEdge(
        edge.id,
        edge.source_id,
        thing.get(edge.subject_id, edge.subject_id),
        edge.subject,
        thing.get(edge.object_id, edge.object_id),
        edge.object,
        edge.statement,
        edge.predicates,
        edge.confidence,
        edge.support,
        edge.contradicts,
        edge.subject_id,
        edge.object_id,
    )
