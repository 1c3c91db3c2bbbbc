"""LightRAG on the same documents as a baseline: its own prompts and settings with our teacher and our embedder.

The index stays in a folder, so that a resumed evaluation does not pay for a document twice.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from drag_graph.errors import DragGraphError, MissingExtra, ModelError, ModelUnavailable
from drag_graph.evaluation.baselines import cut, subgraph_of
from drag_graph.evaluation.tasks import TaskItem
from drag_graph.files import write_lines
from drag_graph.model import Subgraph
from drag_graph.models.chat_client import complete
from drag_graph.models.locality import Check
from drag_graph.models.model_choice import server_of
from drag_graph.models.model_server import Server
from drag_graph.ports.model_roles import Embedder
from drag_graph.settings import Settings, prepare_libraries

MAX_TOKENS = 4096
"""Maximum length of a reply, the same as for the teacher."""
TOKENIZER = "gpt-4"
"""Model whose tokeniser counts tokens. LightRAG's default, gpt-4o-mini, would need a download; LiteLLM ships this one."""
_NO_USAGE = {"calls": 0, "tokens_in": 0, "tokens_out": 0, "seconds": 0.0}


def teacher_server(settings: Settings, privacy: Check | None = None) -> Callable[[], Server]:
    """Return a function that opens the teacher and returns its server. A student in this process may have closed it since."""
    return partial(server_of, settings.model_for("teacher"), privacy)


class LightRag:
    """Shows each item the context that LightRAG finds for its question. Not thread-safe.

    `usage` has the calls, tokens and seconds of indexing and asking. It is stored next to the index.
    """

    def __init__(
        self, folder: Path, texts: Sequence[str], server: Callable[[], Server], embedder: Embedder, number: int
    ) -> None:
        if find_spec("lightrag") is None:
            raise MissingExtra("The baseline lightrag needs the package lightrag-hku.", extra="evaluation")
        self._folder, self._texts, self._number = folder, texts, number
        self._server, self._embedder = server, embedder
        self._record = folder / "took.json"
        self.usage: dict[str, Any] = {"indexing": dict(_NO_USAGE), "asking": dict(_NO_USAGE)}
        if self._record.is_file():
            self.usage.update(json.loads(self._record.read_text(encoding="utf-8")))
        self._stage = "indexing"
        self._fault: DragGraphError | None = None
        self._rag: Any = None
        self._runner = asyncio.Runner()

    def close(self) -> None:
        """Close the index and free the memory that all indexes of this process share."""
        if self._rag is not None:
            from lightrag.kg.shared_storage import finalize_share_data

            self._runner.run(self._rag.finalize_storages())
            finalize_share_data()
        self._runner.close()

    def lines_of(self, items: Sequence[TaskItem]) -> list[list[Subgraph]]:
        """Return the context of each item as the evidence of a subgraph. Raises ModelError if the teacher fails."""
        if self._rag is None:
            self._timed("indexing", self._index())
        return [[subgraph_of(item.query, self._timed("asking", self._find(item.query.text)), "lightrag")] for item in items]

    def _timed(self, stage: str, work: Any) -> Any:
        self._stage, start = stage, time.monotonic()
        try:
            return self._runner.run(work)
        finally:
            self.usage[stage]["seconds"] += round(time.monotonic() - start, 1)
            write_lines(self._record, [json.dumps(self.usage)])

    async def _index(self) -> None:
        """Open the index and add the documents that it does not have yet."""
        self._rag = self._create()
        await self._rag.initialize_storages()
        await self._rag.ainsert(list(self._texts))
        counts = await self._rag.doc_status.get_status_counts()
        self.usage["indexing"] |= {"documents": counts["processed"], "failed": counts["failed"]}
        if isinstance(self._fault, ModelError):  # LightRAG only logs it
            raise self._fault
        if not counts["processed"]:
            raise ModelUnavailable("LightRAG could not index any document.", hint=f"Inspect {self._folder}.")

    async def _find(self, question: str) -> list[str]:
        """Return the context: entities, relationships and passages in turn, best first, up to the number of lines."""
        from lightrag import QueryParam

        context = (await self._rag.aquery_data(question, QueryParam(enable_rerank=False))).get("data") or {}
        entities = [f"{one['entity_name']}: {one['description']}" for one in context.get("entities", ())]
        relations = [f"{one['src_id']} - {one['tgt_id']}: {one['description']}" for one in context.get("relationships", ())]
        passages = [passage for one in context.get("chunks", ()) for passage in cut(one["content"])]
        in_turn = chain.from_iterable(zip_longest(entities, relations, passages))
        return list(dict.fromkeys(filter(None, in_turn)))[: self._number]

    def _create(self) -> Any:
        server = self._server()
        prepare_libraries()
        import litellm.litellm_core_utils.default_encoding  # noqa: F401 - tells tiktoken where LiteLLM's file is
        from lightrag import LightRAG, __version__
        from lightrag.utils import EmbeddingFunc

        logging.getLogger("lightrag").setLevel(logging.CRITICAL)  # its log contains texts
        self.usage["version"] = __version__

        # Functions, because LightRAG copies its settings deeply, which methods of this object would not survive.
        async def ask(
            prompt: str, system_prompt: str | None = None, history_messages: Sequence[dict[str, str]] = (), **_: Any
        ) -> str:
            system = [{"role": "system", "content": system_prompt}] if system_prompt else []
            return await self._complete([*system, *history_messages, {"role": "user", "content": prompt}])

        async def embed(texts: list[str], **_: Any) -> Any:
            return self._embedder.embed(texts)

        return LightRAG(
            working_dir=str(self._folder),
            llm_model_func=ask,
            llm_model_name=server.model,
            default_llm_timeout=round(server.timeout),
            embedding_func=EmbeddingFunc(embedding_dim=self._embedder.dimension, func=embed),
            tiktoken_model_name=TOKENIZER,
        )

    async def _complete(self, messages: Sequence[dict[str, str]]) -> str:
        try:
            reply = await asyncio.to_thread(complete, self._server(), messages, max_tokens=MAX_TOKENS)
        except DragGraphError as error:
            self._fault = error
            raise
        usage = self.usage[self._stage]
        usage["calls"] += 1
        usage["tokens_in"] += reply.tokens_in
        usage["tokens_out"] += reply.tokens_out
        return reply.text
