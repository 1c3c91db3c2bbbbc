"""Accuracy and tokens of the `nearest` student in all four modes, through the whole pipeline, on real questions.

    python bench/results.py --data FOLDER [--set qasc ...] [--rows N] [--store PATH|bolt://...] [--embedder minilm]

FOLDER holds the sets as JSON lines (see drag_graph/evaluation/converters.py). Each set is distilled with the curated teacher
(triples by `patterns`) into a namespace of its own and asked in every mode. Prints a Markdown table, how `graph` does beside
`evidence` on the same questions, and what made it.
"""

import argparse
import platform
import tempfile
import time
from pathlib import Path

from drag_graph import __version__
from drag_graph.bootstrap import Session, open_session
from drag_graph.distil.loaders import read_queries
from drag_graph.evaluation import converters, leakage
from drag_graph.evaluation.statistics import paired_difference
from drag_graph.model import MODES
from drag_graph.settings import load_settings


def main() -> None:
    """Run the sets and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", action="append", choices=sorted(converters.SETS), help="repeat it; default: both main sets")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--store", default="")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--line-format", default="sentence", choices=["arrow", "sentence"])
    args = parser.parse_args()
    print("| set | rows | store | mode | accuracy | tokens a prompt | tokens of lines | lines | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.set or ["entailmentbank_arc", "qasc"]:
            measure(name, args, Path(folder) / name)
    print(f"\ndrag-graph {__version__}, embedder {args.embedder}, Python {platform.python_version()}, {platform.machine()}")


def measure(name: str, args: argparse.Namespace, folder: Path) -> None:
    """Distil one set and ask it in every mode; print a row a mode."""
    questions, curated = converters.write(name, args.data, folder, rows=args.rows)
    store = args.store or str(folder / "graph.lbug")
    flags = {
        "store": store,
        "namespace": f"results-{name}-{time.time_ns()}",
        "embedder": args.embedder,
        "teacher": f"curated:{curated}",
        "line_format": args.line_format,
    }
    settings = load_settings(flags)
    with open_session(settings) as session:
        report = session.distiller().run(read_queries(questions, namespace=settings.namespace))
        totals = report.totals()
        assert totals["complete"] == totals["queries"], totals
        engine = "Neo4j" if settings.uses_neo4j else "embedded"
        leak_share = leaking(session, questions, settings.namespace)
        right = {}
        for mode in MODES:
            session.settings = load_settings({**flags, "mode": mode})
            began = time.monotonic()
            answers = session.asker().ask_all(read_queries(questions, namespace=settings.namespace))
            seconds = time.monotonic() - began
            row = answers.totals()
            right[mode] = [bool(asked.answer.correct) for asked in answers.answers]
            lines = sum(len(asked.answer.lines) for asked in answers.answers) / row["n"]
            context = sum(asked.context_tokens for asked in answers.answers) / row["n"]
            print(
                f"| {name} | {row['n']} | {engine} | {mode} | {100 * row['accuracy']:.1f} "
                f"| {row['prompt_tokens'] / row['n']:.1f} | {context:.1f} | {lines:.1f} | {seconds:.1f} |",
                flush=True,
            )
        low, mean, high = (100 * share for share in paired_difference(right["graph"], right["evidence"]))
        print(f"\n{name}: graph less evidence {mean:.1f} points, 95 % {low:.1f} to {high:.1f} (paired bootstrap)")
        print(f"<!-- {name}: {100 * leak_share:.1f} % of the kept evidence gives the answer away -->")
        if settings.uses_neo4j:
            for query in session.store.sources(limit=10**9):
                session.store.erase([query.id])


def leaking(session: Session, questions: Path, namespace: str) -> float:
    """Return the share of kept evidence that gives the answer away (steps/leakage.py)."""
    queries = {line.query.id: line.query for line in read_queries(questions, namespace=namespace) if line.query}
    subgraphs = session.store.read(list(queries))
    reports = [leakage.report(subgraph.kept_evidence, queries[subgraph.query.id]) for subgraph in subgraphs]
    return sum(len(report.reasons) for report in reports) / sum(report.total for report in reports)


if __name__ == "__main__":
    main()
