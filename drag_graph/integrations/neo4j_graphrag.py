"""neo4j-graphrag: a retriever over a store in Neo4j."""

from collections.abc import Mapping
from typing import Any

from drag_graph.app.application import DragGraph
from drag_graph.errors import ConfigurationError
from drag_graph.integrations.found_texts import BEST, find_texts, missing

try:
    import neo4j
    from neo4j_graphrag.retrievers.base import Retriever
    from neo4j_graphrag.types import RawSearchResult, RetrieverResultItem
except ImportError as error:
    raise missing("neo4j-graphrag") from error


class Neo4jGraphRagRetriever(Retriever):
    """Returns the texts and edges that `DragGraph.search` finds in the Neo4j store of `graph`, best first.

    `driver` connects to the same server. The metadata of an item have the ids of its nodes there: `ref` and `evidence_ids`
    of Evidence (`ref` of a RELATED relationship if `kind` is `edge`), `source_id` of a Query or Document.

    Raises ConfigurationError if `graph` has an embedded store.
    """

    def __init__(
        self,
        driver: neo4j.Driver,
        graph: DragGraph,
        *,
        neo4j_database: str | None = None,
        search: Mapping[str, Any] | None = None,
    ) -> None:
        if not graph.settings.uses_neo4j:
            raise ConfigurationError(f"{graph.settings.store} is not a Neo4j store.", hint="Pass `store=bolt://HOST:7687`.")
        super().__init__(driver, neo4j_database)
        self._graph = graph
        self._search = dict(search or {})

    def get_search_results(self, query_text: str, top_k: int = BEST) -> RawSearchResult:
        """Search the graph for a question.

        Args:
            query_text (str): The question.
            top_k (int): Maximum number of texts and edges.
        """
        matches = find_texts(self._graph, query_text, top_k, self._search)
        records = [neo4j.Record(item._asdict()) for item in matches]  # type: ignore[no-untyped-call]
        return RawSearchResult(records=records)

    def default_record_formatter(self, record: neo4j.Record) -> RetrieverResultItem:
        """Return a found text with its metadata."""
        return RetrieverResultItem(content=record["text"], metadata=record["metadata"])
