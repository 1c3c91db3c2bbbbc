"""`show --format html`: a subgraph as a picture in one file that opens offline, drawn by neo4j-viz (docs/adr/0005)."""

import html
from importlib.util import find_spec
from typing import Any

from drag_graph.errors import MissingExtra
from drag_graph.model import SimpleEdge, Subgraph

_ENTITY = "#4C8EDA"
_DISPUTED = "#B3372F"
_AGREED = "#A5ABB6"
_EVIDENCE = "#FFC454"
_QUERY = "#DA7194"
_WEAK, _STRONG = 1.0, 6.0
"""Widths in pixels of an edge of confidence 0 and 1."""


def graph_page(subgraph: Subgraph) -> str:
    """Return a self-contained HTML page of a subgraph: entities, and edges with confidence, support and statement.

    The width of an edge grows with its confidence, the size of an entity with its number of edges. A subgraph without edges
    shows its kept evidence. Raises MissingExtra if neo4j-viz is not installed.
    """
    require_viz()
    edges = subgraph.usable_edges
    nodes, links = _entity_graph(subgraph, edges) if edges else _evidence_graph(subgraph)
    return picture_page(subgraph.title, nodes, links)


def require_viz() -> None:
    """Raise MissingExtra if neo4j-viz is not installed."""
    if find_spec("neo4j_viz") is None:
        raise MissingExtra("The picture needs the package neo4j-viz.", extra="integrations")


def picture_page(title: str, nodes: list[Any], links: list[Any]) -> str:
    """Return nodes and relationships of neo4j-viz as an HTML page."""
    from neo4j_viz import VisualizationGraph

    picture: str = VisualizationGraph(nodes=nodes, relationships=links).render(height="100vh").data
    head, closing, rest = picture.partition("</head>")
    words = f"<title>{html.escape(title)}</title>"
    if closing:
        return f"{head}{words}{closing}{rest}"
    return f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{words}</head><body>{picture}</body></html>'


def _entity_graph(subgraph: Subgraph, edges: tuple[SimpleEdge, ...]) -> tuple[list[Any], list[Any]]:
    from neo4j_viz import Node, Relationship

    degree: dict[str, int] = {}
    for edge in edges:
        for end in (edge.subject_id, edge.object_id):
            degree[end] = degree.get(end, 0) + 1
    nodes = [
        Node(
            id=entity.id,
            caption=entity.name,
            size=14 + 4 * degree[entity.id],
            color=_ENTITY,
            properties={"name": entity.name, "type": entity.type, "also": ", ".join(entity.variants)},
        )
        for entity in subgraph.entities
        if entity.id in degree
    ]
    links = [
        Relationship(
            id=edge.id,
            source=edge.subject_id,
            target=edge.object_id,
            caption=", ".join(name.replace("_", " ") for name in edge.predicates),
            properties={
                "statement": edge.statement,
                "confidence": round(edge.confidence, 3),
                "support": edge.support,
                "rank": edge.rank,
                "evidence": _texts(subgraph, edge),
                "contradicts": ", ".join(edge.contradicts),
            },
            color=_DISPUTED if edge.contradicts else _AGREED,
            width=_WEAK + (_STRONG - _WEAK) * edge.confidence,
        )
        for edge in edges
    ]
    return nodes, links


def _texts(subgraph: Subgraph, edge: SimpleEdge) -> str:
    wanted = set(edge.evidence_ids)
    return " | ".join(item.text for item in subgraph.evidence if item.id in wanted)


def _evidence_graph(subgraph: Subgraph) -> tuple[list[Any], list[Any]]:
    from neo4j_viz import Node, Relationship

    id_, title = subgraph.source_id, subgraph.title
    nodes = [Node(id=id_, caption=title, size=30, color=_QUERY, properties={"source": title})]
    links = []
    for item in subgraph.kept_evidence:
        shown = {"text": item.text, "framing": item.framing, "score": round(item.score, 3)}
        nodes.append(Node(id=item.id, caption=item.text, size=20, color=_EVIDENCE, properties=shown))
        links.append(Relationship(source=id_, target=item.id, caption="HAS_EVIDENCE"))
    return nodes, links
