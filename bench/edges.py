"""What many edges and a cloud find, against the ways that need all documents in one place (docs/measurements/sites.md).

    python bench/edges.py --data FOLDER --folder KEPT --setup domains [--embedder lexical] [--half all] [--questions 60]
    python bench/edges.py --data FOLDER --folder KEPT --setup lihua --measure recall
    python bench/edges.py --data FOLDER --folder KEPT --measure gate [--gate model --student gguf:FILE] [--no-graph]
    python bench/edges.py --data FOLDER --folder KEPT --setup lihua --measure answers --student gguf:FILE --questions 20

`domains` is four corpora, one an edge; `lihua` and `multihop` are one corpus, split by document over four edges. Cloud and
edges are the real services, over sockets of this machine. Every figure has its 95 % interval: Wilson's of a share, the
bootstrap's over the questions of a mean. `--privacy standard` lets what leaves an edge pass the gate. KEPT has what was made.
"""

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, cycle
from pathlib import Path

import numpy as np
from edges_corpora import CORPORA, SEED, Question, Setup, drawn, facts, made, recall, setup

from drag_graph.app.application import DragGraph
from drag_graph.app.resources import Resources
from drag_graph.ask.answers import plain_answer
from drag_graph.ask.find_lines import Finder
from drag_graph.ask.searching import Searcher
from drag_graph.compose.session import Session
from drag_graph.compose.site_setup import judging_student
from drag_graph.compose.store_opening import open_store
from drag_graph.errors import ReplyError
from drag_graph.evaluation.baselines import by_bm25, by_cosine
from drag_graph.evaluation.intervals import paired_difference, wilson
from drag_graph.evaluation.metrics import token_f1
from drag_graph.graph.paging import pages, source_ids
from drag_graph.inputs import make_query
from drag_graph.model import Subgraph
from drag_graph.models.model_choice import make_embedder
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder
from drag_graph.ports.site_registry import SummaryHit
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.server import ServicePlace, served
from drag_graph.settings import Settings, load_settings
from drag_graph.sites.agreement import LACKING, LocalAnswer, judge
from drag_graph.sites.cloud.cloud_asker import COMPARED, closest
from drag_graph.sites.cloud.site_management import StoredSites
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.passage_release import Release
from drag_graph.sites.site_asker import verdict_on
from drag_graph.sites.site_service import Knowledge, SiteService
from drag_graph.sites.traffic_log import Traffic, TrafficRow

SHOWN = 10
"""Lines in which the documents of an answer are looked for."""
ASKED = ((4, 10), (1, 3), (2, 3), (4, 100))
"""How many edges (k) of how many summaries (m) are asked: by default, as in the paper, in between, and all of them."""
AGREEMENTS = (0.0, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.9)
Systems = dict[str, Callable[[Question], Collection[str]]]
"""What finds documents for a question, by name."""


@dataclass(frozen=True, slots=True)
class Local:
    """An edge's best answer, and what its gate sees: the agreement of the answers, and the fraction that lacks information.

    `claimed` is the agreement if replies that lack information count as answers. `first_lacks`: the first reply lacks it.
    """

    text: str = ""
    agreement: float = 0.0
    lacking: float = 1.0
    claimed: float = 0.0
    first_lacks: bool = True
    answer_seconds: float = 0.0
    gate_seconds: float = 0.0

    def asks(self, threshold: float) -> bool:
        return self.lacking >= LACKING or self.agreement < threshold


class Bench:
    """The stores of a set-up, opened, and what they are asked with."""

    def __init__(self, args: argparse.Namespace, opened: ExitStack) -> None:
        self.args = args
        self.setup: Setup = setup(args.data, args.setup, args.corpora)
        make = partial(made, args.folder, embedder=args.embedder)
        self.edges: dict[str, Settings] = {name: make(name, texts) for name, texts in self.setup.edges.items()}
        self.asking = {"mode": args.mode, "max_lines": SHOWN, "token_budget": 4096, "asked_seconds": 120.0, "brief": True}
        self.embedder: Embedder = make_embedder(load_settings({"embedder": args.embedder}))
        self.opened = opened

    @cached_property
    def central(self) -> Settings:
        """The one graph of all, which is made when it is first needed."""
        name = "-".join(("all", *self.args.corpora)) if self.args.setup == "domains" else self.args.setup
        return made(self.args.folder, name, self.setup.all, self.args.embedder)

    @cached_property
    def whole(self) -> Session:
        return self.opened.enter_context(Resources(self.of(self.central)).reading())

    def of(self, store: Settings) -> Settings:
        return store.model_copy(update=self.asking)

    @contextmanager
    def cloud(
        self, asked_edges: int = ASKED[0][0], student: str = "nearest", summaries: int = ASKED[0][1]
    ) -> Iterator[dict[str, CloudClient]]:
        """Lend each edge's connection to a cloud that all edges serve, and that of "asks", an edge that knows nothing."""
        with tempfile.TemporaryDirectory() as place, ExitStack() as opened:
            settings = load_settings({"store": f"{place}/cloud.lbug", "embedder": self.args.embedder, "privacy": "off"})
            settings = self.of(settings).model_copy(
                update={"asked_edges": asked_edges, "asked_summaries": summaries, "student": student}
            )
            graph = opened.enter_context(DragGraph(settings=settings))
            cloud = opened.enter_context(graph.cloud.opened())
            tokens = {name: StoredSites(cloud.store).add(name) for name in (*self.edges, "asks")}
            ring = opened.enter_context(closing(KeyRing(settings.service_records_path)))
            address = opened.enter_context(served(graph, ServicePlace(port=0), Limits(), ring, cloud)).address
            stop = threading.Event()
            threads = [
                threading.Thread(target=self._serve, args=(address, name, tokens[name], stop), daemon=True)
                for name in self.edges
            ]
            for thread in threads:
                thread.start()
            wanted = sum(1 for name in self.edges if self.summaries(name))
            while len({site.name for site in cloud.store.registry.sites() if site.summaries}) < wanted:
                time.sleep(0.5)
            traffic = Traffic(Path(place, "asks.traffic"))
            connect = partial(CloudClient, address, check=_unchecked, traffic=traffic)
            yield {name: opened.enter_context(connect(name, token)) for name, token in tokens.items()}
            stop.set()
            for thread in threads:
                thread.join(60)

    @contextmanager
    def asking_at(self, settings: Settings) -> Iterator[Callable[[Question], Local]]:
        """Yield a function that answers as an edge does."""
        chosen = self.of(settings).model_copy(update={"student": self.args.student, "gate": self.args.gate})
        with Resources(chosen).reading() as session:
            asker, judging = session.asker(unkept="a measurement"), judging_student(session)

            def local(one: Question) -> Local:
                began = time.monotonic()
                try:
                    answers = asker.several(make_query(one.text), chosen.candidates)
                except ReplyError:
                    return Local()
                answered = time.monotonic()
                verdict = verdict_on(answers, session.embedder, 0.0, judging)
                seconds = answered - began, time.monotonic() - answered
                texts = [found.answer.text or "-" for found in answers]
                claimed = judge([LocalAnswer(text) for text in texts], session.embedder.embed(texts), 0.0).agreement
                first = verdict_on(answers[:1], session.embedder, 0.0).lacking >= LACKING
                return Local(texts[verdict.best], verdict.agreement, verdict.lacking, claimed, first, *seconds)

            yield local

    def _serve(self, address: str, name: str, token: str, stop: threading.Event) -> None:
        settings, traffic = self.of(self.edges[name]), Traffic(self.traffic_of(name))
        knowledge = Knowledge(settings, partial(open_store, settings, create=False, read_only=True), self.embedder)
        with CloudClient(address, name, token, check=_unchecked, traffic=traffic) as client:
            SiteService(client, knowledge, self.release(), poll_seconds=1.0).run(stop)

    def traffic_of(self, name: str) -> Path:
        return Path(self.edges[name].store).with_suffix(f".{self.args.privacy}.traffic")

    def release(self) -> Release:
        """Return what lets texts out as `--privacy` says."""
        if self.args.privacy == "off":
            return Release("passages", (), None)
        from drag_graph.privacy.privacy_gate import open_gate

        gate = open_gate(self.args.privacy)
        assert gate is not None
        return Release("passages", (), gate.generalised_passage)

    def summaries(self, name: str) -> Mapping[str, str]:
        """Return what an edge tells the cloud; read once."""
        kept = Path(self.edges[name].store).with_suffix(f".{self.args.privacy}.summaries.json")
        if not kept.exists():
            with open_store(self.edges[name], create=False, read_only=True) as store:
                kept.write_text(json.dumps(self.release().summaries(store)[0]), encoding="utf-8")
        found: dict[str, str] = json.loads(kept.read_text(encoding="utf-8"))
        return found

    def holders(self, question: Question) -> set[str]:
        """Return the edges that a question is for: those that hold a document of its, else that of its corpus."""
        wanted = frozenset().union(*question.gold)
        return {name for name, texts in self.setup.edges.items() if wanted & texts.keys()} or {question.corpus}


def measure_hits(bench: Bench, asked: Sequence[Question]) -> None:
    """Print how often one of the best m summaries is one of an edge that the question is for, and how many edges are asked."""
    owners = [(name, text) for name in bench.edges for text in bench.summaries(name).values()]
    embedder = make_embedder(load_settings({"embedder": bench.args.cloud_embedder or bench.args.embedder}))
    vectors = np.concatenate([embedder.embed(some) for some in pages([text for _, text in owners], 256)])
    held = {name: sum(one == name for one, _ in owners) for name in bench.edges}
    print(f"summaries by edge: {held}; {sum(len(text.encode()) for _, text in owners)} bytes")
    chance = np.mean([len(bench.holders(one)) / len(bench.edges) for one in asked])
    print(f"a question is for {chance:.2f} of the edges in the mean")
    k, m = ASKED[0]
    print(f"| questions | n | m = 1 | m = 2 | m = 3 | edges asked, k = {k}, m = {m} |\n|---|---|---|---|---|---|")
    best, number = {}, {}
    for one in asked:
        cosines = vectors @ embedder.embed_queries([one.text])[0]
        nearest = np.argsort(-cosines, kind="stable")[:COMPARED]
        hits = [SummaryHit(owners[at][0], owners[at][0], str(at), owners[at][1], float(cosines[at])) for at in nearest]
        order = [hit.site for hit in closest(one.text, hits)[:m]]
        best[one.id] = [name in bench.holders(one) for name in order[:3]]
        number[one.id] = min(len(set(order)), k)
    for corpus in (*dict.fromkeys(one.corpus for one in asked), "all"):
        some = [one for one in asked if corpus in (one.corpus, "all")]
        cells = [_share(sum(any(best[one.id][:few]) for one in some), len(some)) for few in (1, 2, 3)]
        print(f"| {corpus} | {len(some)} | {' | '.join(cells)} | {np.mean([number[one.id] for one in some]):.1f} |")


def measure_recall(bench: Bench, asked: Sequence[Question]) -> None:
    """Print the share of the documents behind an answer that are found, by system, and how much more the first one finds."""
    asked = [one for one in asked if one.gold]
    print(f"| {len(asked)} questions | evidence recall@{SHOWN} | the first less it |\n|---|---|---|")
    first: list[float] = []
    for edges, best in ASKED:
        with bench.cloud(edges, summaries=best) as clients:
            values = [recall(one.gold, _documents(clients["asks"], one.text)) for one in asked]
        first = first or values
        _told(f"edges and cloud, k = {edges}, m = {best}", values, first)
    for name, find in _systems(bench).items():
        _told(name, [recall(one.gold, find(one)) for one in asked], first)
    sent = [row for name in bench.edges for row in Traffic(bench.traffic_of(name)).rows()]
    print("bytes that left the edges, so far:", _sums(sent), "; documents:", facts(bench.central)["bytes"])


def _systems(bench: Bench) -> Systems:
    """Return what has all documents in one place, or one edge's."""
    whole = bench.whole.store
    graphs = [graph for ids in pages(source_ids(whole), 50) for graph in whole.read(ids)]
    named = _names(graphs)
    passages = {item.text: named[graph.source_id] for graph in graphs for item in graph.evidence}
    chunks = dict(_chunks(bench.setup.all, bench.central.chunk_size))
    found: Systems = {
        "one graph of all (`ask`)": _finding(Finder(bench.of(bench.central), whole, bench.embedder)),
        "passages by cosine": lambda one: _by_vectors(whole, bench.embedder, one.text, named),
        "passages by BM25": _texts(by_bm25(list(passages), SHOWN), passages),
        "chunks by cosine (naive RAG)": _texts(by_cosine(list(chunks), bench.embedder, SHOWN), chunks),
        "chunks by BM25": _texts(by_bm25(list(chunks), SHOWN), chunks),
    }
    for name, settings in bench.edges.items():
        session = bench.opened.enter_context(Resources(bench.of(settings)).reading())
        found[f"one edge ({name})"] = _finding(Finder(session.settings, session.store, bench.embedder))
    return found


def measure_gate(bench: Bench, asked: Sequence[Question]) -> None:
    """Print how often the cloud is asked about questions within and out of an edge's domain, by agreement.

    The last rows are DGRAG's ablations (section 4.7): the default without one of the parts of the gate.
    """
    found: dict[bool, list[Local]] = {True: [], False: []}
    rng, began = np.random.default_rng(SEED), time.monotonic()
    for number, (name, settings) in enumerate(bench.edges.items(), 1):
        inside, outside = ([one for one in asked if (name in bench.holders(one)) is side] for side in (True, False))
        some = rng.choice(len(outside), min(len(inside), len(outside)), replace=False)
        with bench.asking_at(settings) as local:
            for one in chain(*zip(inside, (outside[place] for place in some), strict=False)):
                if time.monotonic() - began < bench.args.seconds * number / len(bench.edges):
                    found[one in inside].append(local(one))
    print(f"{len(found[True])} questions within, {len(found[False])} out of the domains")
    print("| gate | asks the cloud within its domain | out of it |\n|---|---|---|")
    default = load_settings({}).agreement
    gates: dict[str, Callable[[Local], bool]] = {
        f"agreement {threshold:.2f}": lambda one, threshold=threshold: one.asks(threshold) for threshold in AGREEMENTS
    }
    gates |= {
        f"default, {default:.2f}": lambda one: one.asks(default),
        "without confidence detection": lambda one: one.claimed < default,
        "without similarity": lambda one: one.asks(0.0),
        "with one answer": lambda one: one.first_lacks,
    }
    for name, asks in gates.items():
        shares = [_share(sum(map(asks, found[side])), len(found[side])) for side in (True, False)]
        print(f"| {name} | {shares[0]} | {shares[1]} |")
    seconds = [(one.answer_seconds, one.gate_seconds) for side in found.values() for one in side]
    print("seconds for a question: answers {:.3f}, gate {:.3f}".format(*np.mean(seconds, axis=0)))


def measure_answers(bench: Bench, asked: Sequence[Question]) -> None:
    """Print how often answers match: always an edge's own, always the cloud's, and what the gate chooses of them.

    The edges ask in turn, and the cloud asks the others. KEPT has what was said.
    """
    asked = [one for one in asked if one.answer]
    kept, began, said = bench.args.folder / f"answers-{Path(bench.args.student).stem}.jsonl", time.monotonic(), []
    phases: list[tuple[float, ...]] = []
    with bench.cloud(student=bench.args.student) as clients, kept.open("w", encoding="utf-8") as file, ExitStack() as opened:
        local = {name: opened.enter_context(bench.asking_at(settings)) for name, settings in bench.edges.items()}
        for one, name in zip(asked, cycle(bench.edges), strict=False):
            if time.monotonic() - began > bench.args.seconds:
                break
            own = local[name](one)
            sent = time.monotonic()
            reply = clients[name].ask(one.text)
            slowest = max((site.seconds for site in reply.asked), default=0.0)
            phases.append((own.answer_seconds, own.gate_seconds, slowest, reply.seconds - slowest))
            phases[-1] += (time.monotonic() - sent - reply.seconds,)
            there = reply.answer if reply.answer.strip() and reply.lines else own.text
            here, agreement = name in bench.holders(one), own.agreement if not own.asks(0.0) else -1.0
            said.append({"gold": one.answer, "local": own.text, "cloud": there, "agreement": agreement, "held": here})
            print(json.dumps({"question": one.text, "edge": name, **said[-1]}, ensure_ascii=False), file=file, flush=True)
    print(f"{len(said)} questions, {sum(one['held'] for one in said)} of them with a document at the edge that asks")
    print("seconds: answers {:.3f}, gate {:.3f}, sites {:.3f}, cloud {:.3f}, network {:.3f}".format(*np.mean(phases, axis=0)))
    print("| | asks the cloud | exact | contains | F1 | contains, less always local |\n|---|---|---|---|---|---|")
    always = [one["local"] for one in said]
    ways = {"always local": (0.0, always), "always the cloud": (1.0, [one["cloud"] for one in said])}
    for threshold in AGREEMENTS:
        chosen = [one["cloud"] if one["agreement"] < threshold else one["local"] for one in said]
        ways[f"gate, agreement {threshold:.2f}"] = (np.mean([one["agreement"] < threshold for one in said]), chosen)
    golds = [one["gold"] for one in said]
    for way, (share, texts) in ways.items():
        f1 = [token_f1(text, [gold]) for text, gold in zip(texts, golds, strict=True)]
        cells = [_share(sum(_has(texts, golds, whole=whole)), len(said)) for whole in (True, False)]
        more = _mean(_has(texts, golds), _has(always, golds))
        print(f"| {way} | {100 * share:.0f} | {' | '.join(cells)} | {_mean(f1, [0.0] * len(f1))} | {more} |")


def _has(texts: Sequence[str], golds: Sequence[str], *, whole: bool = False) -> list[bool]:
    """Return which texts are, or else contain, the right answer, by plain words."""
    pairs = [(plain_answer(text), plain_answer(gold)) for text, gold in zip(texts, golds, strict=True)]
    return [text == gold if whole else gold in text for text, gold in pairs]


def _told(name: str, values: Sequence[float], first: Sequence[float]) -> None:
    """Print a row: the mean, and by how much that of the first row is higher."""
    print(f"| {name} | {_mean(values, [0.0] * len(values))} | {_mean(first, values)} |", flush=True)


def _documents(client: CloudClient, text: str) -> set[str]:
    lines = [one for one in client.ask(text).lines if one.document]
    return {Path(one.document.name).stem for one in lines[:SHOWN] if one.document}


def _names(graphs: Iterable[Subgraph]) -> dict[str, str]:
    return {graph.source_id: Path(graph.document.name).stem for graph in graphs if graph.document}


def _finding(finder: Finder) -> Callable[[Question], set[str]]:
    def find(one: Question) -> set[str]:
        found = finder.search(make_query(one.text))
        lines, named = sorted(found.candidates, key=lambda item: -(item.score or 0.0)), _names(found.subgraphs)
        return {named[item.source_id] for item in lines[:SHOWN]}

    return find


def _by_vectors(store: GraphStore, embedder: Embedder, text: str, named: Mapping[str, str]) -> set[str]:
    vector = [float(value) for value in embedder.embed([text])[0]]
    found = store.search.candidates(vector, (), SHOWN).found
    units = store.search.units(list({found.unit_of[id_] for id_ in found.by_vector}), np.zeros((0, 0), np.float32))
    return {named[unit.source_id] for unit in units}


def _texts(find: Callable[[str], list[str]], documents: Mapping[str, str]) -> Callable[[Question], set[str]]:
    return lambda one: {documents[text] for text in find(one.text)}


def _chunks(texts: Mapping[str, str], size: int) -> Iterator[tuple[str, str]]:
    from drag_graph.documents.file_loaders import load_text
    from drag_graph.documents.passages import chunks

    for name, text in texts.items():
        loaded = load_text(text)
        for piece in chunks(loaded.text, loaded.blocks, size):
            yield piece.span.of(loaded.text), name


def _share(part: int, of: int) -> str:
    low, high = wilson(part, of)
    return f"{100 * part / max(of, 1):.1f} ({100 * low:.1f} to {100 * high:.1f})"


def _mean(ones: Sequence[float], others: Sequence[float]) -> str:
    low, mean, high = paired_difference(ones, others)
    return f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def _sums(rows: Sequence[TrafficRow]) -> dict[str, int]:
    return {kind: sum(row.bytes_out for row in rows if row.kind == kind) for kind in sorted({row.kind for row in rows})}


def _unchecked(_texts: Sequence[str]) -> None:
    """Let all out: the release has looked at it."""


MEASURES = {"hits": measure_hits, "recall": measure_recall, "gate": measure_gate, "answers": measure_answers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="Where the stores are kept.")
    parser.add_argument("--setup", choices=("domains", "lihua", "multihop"), default="domains")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=CORPORA, help="Of domains: those that are edges.")
    parser.add_argument("--measure", choices=MEASURES, default="hits")
    parser.add_argument("--embedder", default="lexical")
    parser.add_argument("--cloud-embedder", help="For hits: that of the cloud, where it is not that of the edges.")
    parser.add_argument("--mode", choices=("evidence", "graph", "combined"), default="evidence")
    parser.add_argument("--privacy", choices=("off", "standard", "strict"), default="off")
    parser.add_argument("--student", default="nearest")
    parser.add_argument("--gate", choices=("formula", "model"), default="formula", help="Who judges the answers of an edge.")
    parser.add_argument("--no-graph", action="store_true", help="Search by words and vectors only, without the walk.")
    parser.add_argument("--questions", type=int, default=60, help="Of each corpus, at most.")
    parser.add_argument("--seconds", type=float, default=36000.0, help="Of gate and answers: no further question after these.")
    parser.add_argument("--half", choices=("dev", "test", "all"), default="all")
    args = parser.parse_args()
    if args.no_graph:
        Searcher._walk = lambda *_: {}  # noqa: SLF001 - an ablation
    with ExitStack() as opened:
        bench = Bench(args, opened)
        corpora = args.corpora if args.setup == "domains" else (args.setup,)
        began = time.monotonic()
        MEASURES[args.measure](bench, drawn(args.data, corpora, args.questions, args.half))
        print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
