"""LightRAG and MiniRAG beside our own reading of documents, with the same model (docs/measurements/sites.md).

    python bench/edges_rivals.py --data FOLDER --folder KEPT --model FILE.gguf --system lightrag
    python bench/edges_rivals.py --folder KEPT                 # prints what was kept

On the conversations of LiHua-World, of at most so many characters, that most questions are about, and on all questions that
these answer. The rivals have their own prompts, modes and gleaning. All have the same embedder; the model is asked greedily, by
one call at a time. They want an environment of their own, with this checkout in it (`pip install -e '.[gguf,minilm]'
lightrag-hku nltk rouge`). The published MiniRAG cannot be imported: put its repository on PYTHONPATH. KEPT has what was read
in and found, by system; what is there is not read in again.
"""

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from edges_corpora import Question, documents, questions, recall

from drag_graph.app.resources import Resources
from drag_graph.ask.answers import plain_answer
from drag_graph.compose.document_setup import make_ingester
from drag_graph.documents.document_files import files_in
from drag_graph.evaluation.intervals import paired_difference
from drag_graph.evaluation.metrics import token_f1
from drag_graph.inputs import make_query
from drag_graph.model import Answer
from drag_graph.models.gguf_runtime import LlamaServer
from drag_graph.models.model_choice import make_embedder
from drag_graph.ports.model_roles import Embedder
from drag_graph.settings import load_settings

CONTEXT = 16384
LONGEST_REPLY = 512
"""Tokens: a small model that is asked greedily can go round in circles."""
LONG = 3600.0
"""Seconds that a rival waits for the model: here nothing is gained by giving up."""


def subset(data: Path, number: int, longest: int) -> tuple[dict[str, str], list[Question]]:
    """Return the documents that most questions are about, of at most so many characters, and all questions they answer."""
    texts = {name: text for name, text in documents(data, "lihua").items() if len(text) <= longest}
    every = questions(data, "lihua")
    about = Counter(name for one in every if len(one.gold) == 1 for name in one.gold[0] if name in texts)
    chosen = sorted(about, key=lambda name: (-about[name], name))[:number]
    asked = [one for one in every if all(gold <= set(chosen) for gold in one.gold)]
    return {name: texts[name] for name in chosen}, asked


@dataclass
class Model:
    """The model that all systems ask, with what was asked of it."""

    server: LlamaServer
    until: float = float("inf")
    spent: Counter[str] = field(default_factory=Counter)
    said: dict[str, str] = field(default_factory=dict)

    async def complete(
        self,
        prompt: str,
        system_prompt: str | None = None,
        history_messages: Sequence[Mapping[str, str]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        **_given: object,
    ) -> str:
        """Return the model's reply, or nothing after `until`. The same once more is not asked again, as in the rivals' own."""
        told = [{"role": "system", "content": system_prompt}] if system_prompt else []
        messages = [*told, *(history_messages or ()), {"role": "user", "content": prompt}]
        document = {"messages": messages, "temperature": 0, "max_tokens": LONGEST_REPLY, "cache_prompt": True}
        if response_format:
            document["response_format"] = dict(response_format)
        key = json.dumps(document)
        if key not in self.said:
            if time.monotonic() > self.until:
                self.spent["too_late"] += 1
                return ""
            self.said[key] = await asyncio.to_thread(self._ask, document)
        return self.said[key]

    def _ask(self, document: Mapping[str, Any]) -> str:
        told, place = {"Authorization": f"Bearer {self.server.api_key}"}, f"{self.server.address}/v1/chat/completions"
        reply = httpx.post(place, json=document, headers=told, timeout=LONG, trust_env=False).raise_for_status().json()
        choice, usage = reply["choices"][0], reply["usage"]
        self.spent["calls"] += 1
        self.spent["tokens_in"] += int(usage["prompt_tokens"])
        self.spent["tokens_out"] += int(usage["completion_tokens"])
        self.spent["tokens_known"] += int(reply.get("timings", {}).get("cache_n", 0))
        self.spent["cut"] += choice["finish_reason"] == "length"
        return str(choice["message"]["content"])

    def tokens(self, text: str) -> list[int]:
        return [int(token) for token in self.server.ask("/tokenize", {"content": text})["tokens"]]

    def __deepcopy__(self, memo: object) -> "Model":
        """Share it: the rivals copy their settings."""
        return self


class Tokens:
    """The model's own tokenizer, for packages that would fetch another one."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def encode(self, text: str) -> list[int]:
        return self.model.tokens(text)

    def decode(self, tokens: Iterable[int]) -> str:
        return str(self.model.server.ask("/detokenize", {"tokens": list(tokens)})["content"])

    def __deepcopy__(self, memo: object) -> "Tokens":
        return self


class LightRag:
    """LightRAG at its defaults."""

    def __init__(self, folder: Path, model: Model, embedder: Embedder, mode: str) -> None:
        from lightrag import LightRAG, QueryParam
        from lightrag.utils import EmbeddingFunc, Tokenizer

        async def embed(texts: list[str], **_given: object) -> Any:
            return embedder.embed(texts)

        self.mode, self.parameters = mode or "mix", QueryParam
        self.rag = LightRAG(
            working_dir=str(folder),
            llm_model_func=model.complete,
            llm_model_max_async=1,
            default_llm_timeout=int(LONG),
            embedding_func=EmbeddingFunc(embedding_dim=embedder.dimension, max_token_size=5000, func=embed),
            default_embedding_timeout=int(LONG),
            tokenizer=Tokenizer("the model's own", Tokens(model)),
        )

    async def start(self, _texts: Mapping[str, str]) -> None:
        from lightrag.kg.shared_storage import initialize_pipeline_status

        await self.rag.initialize_storages()
        await initialize_pipeline_status()

    async def index(self, texts: Mapping[str, str]) -> None:
        await self.rag.ainsert(list(texts.values()), ids=list(texts), file_paths=[f"{name}.txt" for name in texts])

    async def find(self, text: str) -> tuple[list[str], str]:
        found = (await self.rag.aquery_data(text, self.parameters(mode=self.mode))).get("data", {})
        context = await self.rag.aquery(text, self.parameters(mode=self.mode, only_need_context=True))
        return [Path(chunk["file_path"]).stem for chunk in found.get("chunks", ())], str(context or "")

    async def answer(self, text: str) -> str:
        return str(await self.rag.aquery(text, self.parameters(mode=self.mode)))


class MiniRag:
    """MiniRAG at its defaults."""

    def __init__(self, folder: Path, model: Model, embedder: Embedder, mode: str) -> None:
        import minirag.utils
        from minirag import MiniRAG, QueryParam
        from minirag.utils import EmbeddingFunc

        async def embed(texts: list[str]) -> Any:
            return embedder.embed(texts)

        minirag.utils.ENCODER = Tokens(model)
        self.mode, self.parameters, self.texts = mode or "mini", QueryParam, dict[str, str]()
        self.rag = MiniRAG(
            working_dir=str(folder),
            llm_model_func=model.complete,
            llm_model_max_async=1,
            embedding_func=EmbeddingFunc(embedding_dim=embedder.dimension, max_token_size=1000, func=embed),
        )

    async def start(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    async def index(self, texts: Mapping[str, str]) -> None:
        await self.rag.ainsert(list(texts.values()), ids=list(texts))

    async def find(self, text: str) -> tuple[list[str], str]:
        context = str(await self.rag.aquery(text, self.parameters(mode=self.mode, only_need_context=True)) or "")
        begins = {name: context.find(whole.split("\n")[0]) for name, whole in self.texts.items()}
        return sorted((name for name, place in begins.items() if place >= 0), key=lambda name: begins[name]), context

    async def answer(self, text: str) -> str:
        return str(await self.rag.aquery(text, self.parameters(mode=self.mode)))


class Ours:
    """`drag-graph ingest` and `ask`; the triples by the rules or, in mode `gguf`, by the model."""

    def __init__(self, folder: Path, model: Model, _embedder: Embedder, mode: str) -> None:
        name = f"gguf:{model.server.path}"
        given = {"store": str(folder / "graph.lbug"), "embedder": "minilm", "privacy": "off", "workers": 1, "student": name}
        self.settings = load_settings({**given, "document_extractor": name if mode == "gguf" else "patterns"})
        self.model, self.folder = model, folder

    async def start(self, _texts: Mapping[str, str]) -> None:
        """Nothing is to be opened."""

    async def index(self, texts: Mapping[str, str]) -> None:
        library = self.folder / "library"
        library.mkdir()
        for name, text in texts.items():
            (library / f"{name}.txt").write_text(text, encoding="utf-8")
        with Resources(self.settings).writing(role="extractor") as session:
            totals = make_ingester(session, "rivals").run(files_in([library])).totals()
            session.linker().run()
        self.model.spent.update(
            {name: int(totals[name]) for name in ("calls", "tokens_in", "tokens_out", "evidence", "triples")}
        )

    async def find(self, text: str) -> tuple[list[str], str]:
        lines = self._asked(text, "nearest").lines
        with Resources(self.settings).reading() as session:
            stored = session.store.read(list(dict.fromkeys(line.source_id for line in lines)))
        named = {graph.source_id: Path(graph.document.name).stem for graph in stored if graph.document}
        return list(dict.fromkeys(named[line.source_id] for line in lines)), "\n".join(line.text for line in lines)

    async def answer(self, text: str) -> str:
        return self._asked(text, self.settings.student).text

    def _asked(self, text: str, student: str) -> Answer:
        settings = self.settings.model_copy(update={"student": student})
        with Resources(settings).reading() as session:
            return session.asker(unkept="a measurement").ask(make_query(text)).answer


SYSTEMS = {"lightrag": LightRag, "minirag": MiniRag, "ours": Ours}


async def measured(args: argparse.Namespace, texts: Mapping[str, str], asked: Sequence[Question]) -> None:
    """Let a system read the documents, and ask it; keep what it took and what it found."""
    folder, kept = args.folder / args.name, args.folder / f"{args.name}.json"
    folder.mkdir(parents=True, exist_ok=True)
    model, embedder = Model(LlamaServer.of(args.model.resolve(), CONTEXT)), make_embedder(load_settings({"embedder": "minilm"}))
    embedder.embed(["loaded"])
    system = SYSTEMS[args.system](folder, model, embedder, args.mode)
    await system.start(texts)
    if kept.exists():
        report: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    else:
        model.until = time.monotonic() + args.index_limit
        with _timed() as spent:
            await system.index(texts)
        model.until = float("inf")
        report = {"index": {**spent, **model.spent, **_graph(folder)}}
        _keep(kept, report)
    found: list[dict[str, Any]] = [
        {"id": one.id, "question": one.text, "gold": one.answer, "documents": [], "problem": ""} for one in asked
    ]
    report["questions"] = found

    async def find(place: int) -> None:
        (names, context), problem = await _tried(system.find(asked[place].text), ([], ""))
        shares = {at: recall(asked[place].gold, names[:at]) for at in (1, 3, 10)}
        found[place] |= {"documents": names, "recall": shares, "context": len(model.tokens(context)), "problem": problem}

    async def answer(place: int) -> None:
        found[place]["answer"], found[place]["answer_problem"] = await _tried(system.answer(asked[place].text), "")

    for step, number, limit in ((find, len(asked), args.find_limit), (answer, args.answers, args.answer_limit)):
        model.spent.clear()
        with _timed() as spent:
            until = time.monotonic() + limit
            for place in range(min(number, len(asked))):
                if time.monotonic() < until:
                    await step(place)
                    _keep(kept, report)
        report[step.__name__] = {**spent, **model.spent}
        _keep(kept, report)


async def _tried(asked: Awaitable[Any], otherwise: Any) -> tuple[Any, str]:
    """Return what a system says, or how it broke: the question counts."""
    try:
        return await asked, ""
    except Exception as error:  # noqa: BLE001
        return otherwise, f"{type(error).__name__}: {error}"


@contextmanager
def _timed() -> Iterator[dict[str, float]]:
    """Tell the seconds of the processor, of all threads of this process, and of the wall."""
    spent, processor, wall = dict[str, float](), time.process_time(), time.monotonic()
    yield spent
    spent |= {"processor_s": round(time.process_time() - processor, 1), "wall_s": round(time.monotonic() - wall, 1)}


def _graph(folder: Path) -> dict[str, int]:
    """Return how many entities and relations a rival has in its graph."""
    import networkx as nx

    graphs = [nx.read_graphml(path) for path in folder.rglob("*.graphml")]
    return {"entities": sum(len(one) for one in graphs), "relations": sum(one.number_of_edges() for one in graphs)}


def _keep(path: Path, report: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")


def told(folder: Path) -> None:
    """Print what was kept of each system."""
    for path in sorted(folder.glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        asked, answered = ([one for one in report.get("questions", ()) if kind in one] for kind in ("recall", "answer"))
        print(f"{path.stem}: { ({name: report.get(name) for name in ('index', 'find', 'answer')}) }")
        for at in ("1", "3", "10") if asked else ():
            print(f"  recall@{at} of {len(asked)}: {_mean([one['recall'][at] for one in asked])}")
        if asked:
            tokens, named = np.mean([(one["context"], len(one["documents"])) for one in asked], axis=0)
            print(f"  a context has {tokens:.0f} tokens, of {named:.1f} documents")
        has = [float(plain_answer(one["gold"]) in plain_answer(one["answer"])) for one in answered]
        f1 = [token_f1(one["answer"], [one["gold"]]) for one in answered]
        if answered:
            print(f"  {len(answered)} answers: contain the right one {_mean(has)}, F1 {_mean(f1)}")


def _mean(ones: Sequence[float]) -> str:
    low, mean, high = paired_difference(ones, [0.0] * len(ones))
    return f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--folder", type=Path, required=True, help="Where what was measured is kept.")
    parser.add_argument("--model", type=Path, help="A GGUF file.")
    parser.add_argument("--system", choices=SYSTEMS)
    parser.add_argument("--mode", default="", help="A rival's way of asking; of ours, `gguf`: the model reads the triples.")
    parser.add_argument("--name", default="", help="What it is kept as; the system's by default.")
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--longest", type=int, default=1500, help="Characters of a document, at most.")
    parser.add_argument("--index-limit", type=float, default=2100.0, help="Seconds; later the model says nothing.")
    parser.add_argument("--find-limit", type=float, default=900.0, help="Seconds after which nothing further is looked for.")
    parser.add_argument("--answers", type=int, default=8, help="So many questions are answered.")
    parser.add_argument("--answer-limit", type=float, default=900.0, help="Seconds after which no further one is.")
    args = parser.parse_args()
    if args.system:
        args.name = args.name or args.system
        asyncio.run(measured(args, *subset(args.data, args.documents, args.longest)))
    told(args.folder)


if __name__ == "__main__":
    main()
