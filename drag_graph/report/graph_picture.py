"""Entities and the edges between them as a page: of sources, of an answer, around an entity, or of large groups."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import Any

from drag_graph.graph.name_forms import concept_id, concept_key
from drag_graph.graph.rejected_claims import claims_of_edges
from drag_graph.manage.graph_statistics import Group, names_of
from drag_graph.model import Entity, SimpleEdge, Subgraph
from drag_graph.ports.concept_store import SameAs
from drag_graph.ports.graph_store import GraphStore, LinkedEdge
from drag_graph.report.graph_formats import cypher_literal
from drag_graph.report.offline_page import offline_page
from drag_graph.stores.shared.cypher_files import folder_beside_or_inside

MOST_EDGES = 500
"""Maximum number of edges in a picture, the most confident ones: more cannot be told apart."""
MOST_THINGS = 400
"""Maximum number of things in a picture of groups."""
SCRIPTS = ("vendor/cytoscape.min.js", "graph.js")
JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """A part of the graph to look at. An entity stands for all stored entities that are the same thing.

    `around` of an entity are the ids with which its neighbours are found. An edge is `wrong` if all of its claims are marked
    wrong. `total` counts the edges including those that did not fit.
    """

    title: str
    entities: Sequence[JSON]
    edges: Sequence[JSON]
    communities: Sequence[JSON] = ()
    sources: Sequence[JSON] = ()
    merges: Sequence[SameAs] = ()
    passages: Sequence[str] = ()
    total: int = 0

    def to_dict(self) -> JSON:
        """Return the document that `GET /api/v1/graph` sends."""
        parts = ("title", "entities", "edges", "communities", "sources", "total")
        return {name: getattr(self, name) for name in parts} | {"merges": [merge.to_dict() for merge in self.merges]}

    def to_html(self) -> str:
        """Return a page that opens offline."""
        return offline_page("graph.html", SCRIPTS, **self.view())

    def view(self) -> JSON:
        """Return the values of the template: the edges and merges of each entity, those with the most edges first."""
        edges_of, merges_of = defaultdict(list), defaultdict(list)
        for edge in self.edges:
            for end in dict.fromkeys((edge["source"], edge["target"])):
                edges_of[end].append(edge)
        owner = {id_: entity["id"] for entity in self.entities for id_ in entity["around"]}
        for merge in self.merges:
            for end in dict.fromkeys(filter(None, (owner.get(merge.left), owner.get(merge.right)))):
                merges_of[end].append(merge)
        titles = {source["id"]: source["title"] for source in self.sources}
        kinds = sorted({entity["type"] for entity in self.entities if entity["type"]})
        entities = sorted(self.entities, key=lambda one: -len(edges_of[one["id"]]))
        values = {"entities": entities, "edges_of": edges_of, "merges_of": merges_of, "titles": titles, "kinds": kinds}
        return {"title": self.title[:80], "picture": self, **values}

    def to_cypher(self, namespace: str) -> str:
        """Return a statement that shows the same edges in Neo4j Browser."""
        text = (folder_beside_or_inside("cypher") / "script" / "graph_picture.cypher").read_text(encoding="utf-8")
        ids = cypher_literal([edge["id"] for edge in self.edges])
        statement = text.partition("\n\n")[2].strip()
        return statement.replace("IDS", ids).replace("NAMESPACE", cypher_literal(namespace))


def picture_of(
    store: GraphStore, title: str, subgraphs: Sequence[Subgraph], wanted: Collection[str] | None = None
) -> GraphPicture:
    """Return a picture of subgraphs, or of those of their edges whose ids are `wanted`.

    Clusters, communities, merges and corrections come from the store.
    """
    every = [edge for graph in subgraphs for edge in graph.usable_edges if wanted is None or edge.id in wanted]
    edges = nlargest(MOST_EDGES, every, key=lambda edge: edge.confidence)
    used = {end for edge in edges for end in (edge.subject_id, edge.object_id)}
    members = [entity for graph in subgraphs for entity in graph.entities if entity.id in used]
    concept_of = {one.id: concept_id(store.namespace, concept_key(one.name)) for one in members}
    concepts = {item.id: item for item in store.concepts.read(sorted(set(concept_of.values())))}
    thing_of = {id_: concepts[own].cluster or own if own in concepts else own for id_, own in concept_of.items()}
    merges = store.concepts.same_as(sorted(concepts)) if concepts else []
    community_of = {id_: item for item in store.communities.read() for id_ in item.entities if id_ in used}
    things: dict[str, list[Entity]] = defaultdict(list)
    for one in members:
        things[thing_of[one.id]].append(one)
    joined: dict[str, set[str]] = defaultdict(set)
    for merge in merges:
        if not merge.undone_at:
            for end in (merge.left, merge.right):
                joined[concepts[end].cluster if end in concepts else ""] |= {merge.left, merge.right}
    entities = [
        {
            **_named(own),
            "id": thing,
            "community": next((community_of[one.id].id for one in own if one.id in community_of), ""),
            "around": sorted({*({concept_of[one.id] for one in own} & concepts.keys()), *joined[thing]})
            or [one.id for one in own],
        }
        for thing, own in things.items()
    ]
    shown = {edge.source_id for edge in edges}
    names = {item.id: item.name or f"Community {item.id[:6]}" for item in community_of.values()}
    return GraphPicture(
        title,
        sorted(entities, key=lambda one: (one["name"].casefold(), one["id"])),
        _edges(store, subgraphs, edges, thing_of),
        [{"id": id_, "name": name} for id_, name in sorted(names.items(), key=lambda item: item[1])],
        [{"id": graph.source_id, "title": graph.title} for graph in subgraphs if graph.source_id in shown],
        merges,
        [] if every else [one.text for graph in subgraphs for one in graph.kept_evidence],
        len(every),
    )


def groups_picture(title: str, groups: Sequence[Group], edges: Iterable[LinkedEdge]) -> GraphPicture:
    """Return a picture of the largest groups that fit, each as a community, with the best edge of each pair of things.

    A first group that is too large is cut.
    """
    shown: list[Group] = []
    room = MOST_THINGS
    for group in groups:
        if len(group.members) > room and shown:
            break
        shown.append(replace(group, members=group.members[:room]))
        room -= len(shown[-1].members)
    group_of = {member: number for number, group in enumerate(shown) for member in group.members}
    inside = [edge for edge in edges if edge.source in group_of and edge.target in group_of]
    best = {(edge.source, edge.target): edge for edge in sorted(inside, key=lambda edge: edge.confidence)}
    names = names_of(inside, group_of)
    entities = [
        {"id": id_, "name": names.get(id_, id_), "type": "", "names": [], "community": str(number), "around": []}
        for id_, number in group_of.items()
    ]
    shared = ("id", "source", "target", "statement", "confidence", "support", "source_id", "contradicts")
    documents = [
        {**{name: getattr(edge, name) for name in shared}, "wrong": False}
        for edge in nlargest(MOST_EDGES, best.values(), key=lambda edge: edge.confidence)
    ]
    communities = [{"id": str(number), "name": group.name or f"Group {number + 1}"} for number, group in enumerate(shown)]
    return GraphPicture(title, entities, documents, communities, total=len(inside))


def _edges(
    store: GraphStore, subgraphs: Iterable[Subgraph], edges: Iterable[SimpleEdge], thing_of: Mapping[str, str]
) -> list[JSON]:
    rejected = store.corrections.rejected().ids
    claims = {id_: own for graph in subgraphs for id_, own in claims_of_edges(graph, graph.usable_edges).items()}
    shared = {"id", "statement", "confidence", "support", "source_id", "contradicts"}
    return [
        {
            **edge.model_dump(mode="json", include=shared),
            "source": thing_of[edge.subject_id],
            "target": thing_of[edge.object_id],
            "wrong": rejected.issuperset(claims[edge.id]),
        }
        for edge in edges
    ]


def _named(entities: Sequence[Entity]) -> JSON:
    """Return the most frequent name and type of one thing, and up to five other names."""
    counts = Counter(one.name for one in entities)
    name = min(counts, key=lambda name: (-counts[name], name))
    types = Counter(one.type for one in entities if one.type)
    others = {*counts, *(variant for one in entities for variant in one.variants)} - {name}
    return {"name": name, "type": min(types, key=lambda kind: (-types[kind], kind), default=""), "names": sorted(others)[:5]}
