"""LlamaIndex: a retriever."""

import asyncio
from collections.abc import Mapping
from typing import Any

from drag_graph.app.application import DragGraph
from drag_graph.integrations.found_texts import BEST, find_texts, missing

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise missing("llama-index-core") from error


class LlamaIndexRetriever(BaseRetriever):
    """Returns the texts and edges that `DragGraph.search` finds, up to `limit`, best first.

    `search` has other arguments of that method, such as `{"since": "2026", "tags": ["contract"]}`.
    """

    def __init__(self, graph: DragGraph, *, limit: int = BEST, search: Mapping[str, Any] | None = None, **base: Any) -> None:
        super().__init__(**base)
        self._graph = graph
        self._limit = limit
        self._search = dict(search or {})

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        matches = find_texts(self._graph, query_bundle.query_str, self._limit, self._search)
        return [
            NodeWithScore(node=TextNode(id_=item.metadata["ref"], text=item.text, metadata=item.metadata), score=item.score)
            for item in matches
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
