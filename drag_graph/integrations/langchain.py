"""LangChain: a retriever, and graph documents in both directions.

`GraphDocument` of langchain-community and langchain-neo4j is recognised by its attributes, so neither has to be installed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from drag_graph.app.application import DragGraph
from drag_graph.errors import ConfigurationError
from drag_graph.integrations.found_texts import BEST, find_texts, missing
from drag_graph.jobs.ingest_job import IngestReport
from drag_graph.model import Subgraph

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    raise missing("langchain-core") from error


class LangChainRetriever(BaseRetriever):
    """Returns the texts and edges that `DragGraph.search` finds, up to `limit`, best first.

    `search` has other arguments of that method, such as `{"since": "2026", "tags": ["contract"]}`.
    """

    graph: DragGraph
    limit: int = BEST
    search: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002
        matches = find_texts(self.graph, query, self.limit, self.search)
        return [Document(id=item.metadata["ref"], page_content=item.text, metadata=item.metadata) for item in matches]


@dataclass
class GraphNode:
    """A `Node` of LangChain. `id` is the entity's name."""

    id: str | int
    type: str = "Node"
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass
class GraphRelationship:
    """A `Relationship` of LangChain. `type` is the predicate."""

    source: GraphNode
    target: GraphNode
    type: str
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass
class GraphDocument:
    """A `GraphDocument` of LangChain, as `add_graph_documents` of its graph stores accepts it."""

    nodes: list[GraphNode]
    relationships: list[GraphRelationship]
    source: Document


def to_graph_document(subgraph: Subgraph) -> GraphDocument:
    """Return a stored subgraph (`graph.show(ID).subgraph`) as a graph document with all its triples.

    The text of `source` is the kept evidence, in the order of the source, one piece per line.
    """
    nodes = {
        entity.id: GraphNode(entity.name, entity.type or "Node", {"entity_id": entity.id, "variants": list(entity.variants)})
        for entity in subgraph.entities
    }
    texts = {item.id: item.text for item in subgraph.evidence}
    relationships = [
        GraphRelationship(
            nodes[triple.subject_id],
            nodes[triple.object_id],
            triple.predicate,
            {"triple_id": triple.id, "confidence": triple.confidence, "evidence": texts[triple.evidence_id]},
        )
        for triple in subgraph.triples
    ]
    kept = sorted(subgraph.kept_evidence, key=lambda item: (item.position, item.id))
    metadata = {"source": subgraph.title, "source_id": subgraph.source_id}
    source = Document(id=subgraph.source_id, page_content="\n".join(item.text for item in kept), metadata=metadata)
    return GraphDocument(list(nodes.values()), relationships, source)


def from_graph_documents(graph: DragGraph, documents: Iterable[Any], **settings: Any) -> IngestReport:
    """Store graph documents: each text as a document, each relationship as a triple with the passage that states it.

    The name of a document is `source` in the metadata of its source, else its id. The confidence of a triple is that of the
    relationship, else 1.0; without a passage that states it, at most 0.3. Node types are not stored. `settings` are those of
    `DragGraph.ingest`.

    Raises ConfigurationError, before anything is stored, for a document without text or name, or if two have the same name.
    """
    texts, triples = dict[str, str](), list[dict[str, Any]]()
    for number, document in enumerate(documents, start=1):
        text = getattr(document.source, "page_content", "") or ""
        name = str((getattr(document.source, "metadata", None) or {}).get("source") or getattr(document.source, "id", "") or "")
        if not text.strip() or not name.strip() or name in texts:
            hint = "Give its source a page_content, and a unique metadata entry `source`."
            raise ConfigurationError(f"Graph document {number} has no text, or no unique name.", hint=hint)
        texts[name] = text
        triples += [{"document": name, **_triple(relationship)} for relationship in document.relationships]
    return graph.ingest_triples(texts, triples, origin="graph documents", **settings).result()


def _triple(relationship: Any) -> dict[str, Any]:
    words = relationship.type.replace("_", " ")
    return {
        "subject": str(relationship.source.id),
        "predicate": words.lower() if words.isupper() else words,
        "object": str(relationship.target.id),
        "confidence": (relationship.properties or {}).get("confidence", 1.0),
    }
