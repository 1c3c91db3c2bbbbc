"""LightRAG over the same documents, as a rival (extra `rivals`): its own prompts and settings, our teacher and our embedder.

Its index is kept in a folder, so that an evaluation that was interrupted pays for no document twice.
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
from drag_graph.models import teachers
from drag_graph.models.chat_client import Server, complete
from drag_graph.models.locality import Check
from drag_graph.ports.model_roles import Embedder
from drag_graph.settings import Settings, prepare_libraries

MAX_TOKENS = 4096
"""Tokens of a reply, at most, as the teacher has it."""
TOKENIZER = "gpt-4"
"""The model whose tokens it counts. Its own choice, gpt-4o-mini, needs a file of the network; this one's comes with LiteLLM."""
_TAKEN = {"calls": 0, "tokens_in": 0, "tokens_out": 0, "seconds": 0.0}


def teacher_server(settings: Settings, privacy: Check | None = None) -> Callable[[], Server]:
    """Return what tells how the teacher is reached now: a file in this process gives way to the student's and comes back."""
    return partial(teachers.teacher_server, settings, privacy)


class LightRag:
    """Shows an item the lines of the context that LightRAG finds for its question. Use it in one thread.

    `took` is what indexing and asking have taken so far; it is kept beside the index.
    """

    def __init__(
        self, folder: Path, texts: Sequence[str], server: Callable[[], Server], embedder: Embedder, number: int
    ) -> None:
        if find_spec("lightrag") is None:
            raise MissingExtra("The baseline lightrag needs the package lightrag-hku.", extra="evaluation")
        self._folder, self._texts, self._number = folder, texts, number
        self._server, self._embedder = server, embedder
        self._record = folder / "took.json"
        self.took: dict[str, Any] = {"indexing": dict(_TAKEN), "asking": dict(_TAKEN)}
        if self._record.is_file():
            self.took.update(json.loads(self._record.read_text(encoding="utf-8")))
        self._stage = "indexing"
        self._fault: DragGraphError | None = None
        self._rag: Any = None
        self._runner = asyncio.Runner()

    def close(self) -> None:
        """Let go of what it holds in memory: it shares that with any other index that this process opens."""
        if self._rag is not None:
            from lightrag.kg.shared_storage import finalize_share_data

            self._runner.run(self._rag.finalize_storages())
            finalize_share_data()
        self._runner.close()

    def lines_of(self, items: Sequence[TaskItem]) -> list[list[Subgraph]]:
        """Return the context of each item as the evidence of a subgraph. Raises ModelError where the teacher cannot be used."""
        if self._rag is None:
            self._timed("indexing", self._index())
        return [[subgraph_of(item.query, self._timed("asking", self._find(item.query.text)), "lightrag")] for item in items]

    def _timed(self, stage: str, work: Any) -> Any:
        self._stage, began = stage, time.monotonic()
        try:
            return self._runner.run(work)
        finally:
            self.took[stage]["seconds"] += round(time.monotonic() - began, 1)
            write_lines(self._record, [json.dumps(self.took)])

    async def _index(self) -> None:
        """Open the index, and read in the documents that it has not read yet."""
        self._rag = self._made()
        await self._rag.initialize_storages()
        await self._rag.ainsert(list(self._texts))
        counts = await self._rag.doc_status.get_status_counts()
        self.took["indexing"] |= {"documents": counts["processed"], "failed": counts["failed"]}
        if isinstance(self._fault, ModelError):  # LightRAG logs it and goes on
            raise self._fault
        if not counts["processed"]:
            raise ModelUnavailable("LightRAG could read none of the documents", hint=f"Look into {self._folder}.")

    async def _find(self, question: str) -> list[str]:
        """Return its context: by turns an entity, a relationship and a passage, the best first, as long as there is room."""
        from lightrag import QueryParam

        found = (await self._rag.aquery_data(question, QueryParam(enable_rerank=False))).get("data") or {}
        entities = [f"{one['entity_name']}: {one['description']}" for one in found.get("entities", ())]
        relations = [f"{one['src_id']} - {one['tgt_id']}: {one['description']}" for one in found.get("relationships", ())]
        passages = [passage for one in found.get("chunks", ()) for passage in cut(one["content"])]
        by_turns = chain.from_iterable(zip_longest(entities, relations, passages))
        return list(dict.fromkeys(filter(None, by_turns)))[: self._number]

    def _made(self) -> Any:
        server = self._server()
        prepare_libraries()
        import litellm.litellm_core_utils.default_encoding  # noqa: F401 - it says where its own tokenizer's file is
        from lightrag import LightRAG, __version__
        from lightrag.utils import EmbeddingFunc

        logging.getLogger("lightrag").setLevel(logging.CRITICAL)  # it tells texts; what matters is in its index and raised
        self.took["version"] = __version__

        # Functions, as it copies its settings deeply.
        async def say(
            prompt: str, system_prompt: str | None = None, history_messages: Sequence[dict[str, str]] = (), **_: Any
        ) -> str:
            system = [{"role": "system", "content": system_prompt}] if system_prompt else []
            return await self._say([*system, *history_messages, {"role": "user", "content": prompt}])

        async def embed(texts: list[str], **_: Any) -> Any:
            return self._embedder.embed(texts)

        return LightRAG(
            working_dir=str(self._folder),
            llm_model_func=say,
            llm_model_name=server.model,
            default_llm_timeout=round(server.timeout),
            embedding_func=EmbeddingFunc(embedding_dim=self._embedder.dimension, func=embed),
            tiktoken_model_name=TOKENIZER,
        )

    async def _say(self, messages: Sequence[dict[str, str]]) -> str:
        try:
            reply = await asyncio.to_thread(complete, self._server(), messages, max_tokens=MAX_TOKENS)
        except DragGraphError as error:
            self._fault = error
            raise
        taken = self.took[self._stage]
        taken["calls"] += 1
        taken["tokens_in"] += reply.tokens_in
        taken["tokens_out"] += reply.tokens_out
        return reply.text
