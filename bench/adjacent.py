"""Do the passages adjacent to those that were found help? For docs/adr/0045.

    python bench/adjacent.py --data FOLDER --folder KEPT [--corpora lihua medical] [--embedder minilm] [--questions 200]

Each question is asked in one graph of its corpus, in three ways: what is found alone; with the passages adjacent to the closest
ones; and with up to twice as many lines of what is found, from 0.8 of the threshold on. For each way the table gives the share
of the right answer's words (those that the question does not have) among the lines that fit into the token budget, the share of
answers all of whose words are there, how much more these are than of what is found alone (95 % intervals by the bootstrap),
lines and tokens (four characters each). Questions with the answer yes or no are left out. KEPT has the stores that were made.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

from edges_corpora import CORPORA, Question, documents, drawn, made

from drag_graph.app.resources import Resources
from drag_graph.ask import find_lines as find
from drag_graph.ask import retrieval as retrieve
from drag_graph.ask.adjacent_passages import adjacent_lines
from drag_graph.ask.context_lines import Candidate, content_words, select_lines
from drag_graph.compose.session import Session
from drag_graph.evaluation.intervals import paired_difference
from drag_graph.inputs import make_query

BUDGET = 1024
"""Tokens, as by default."""
TWICE = {"SHOWN": 2 * find.SHOWN, "PASSAGES": 2 * retrieve.PASSAGES}


@dataclass(frozen=True)
class Shown:
    """What the lines for a question have of its answer, and how many they are."""

    words: float
    whole: float
    lines: int
    tokens: int


def alone(session: Session, question: Question) -> list[Candidate]:
    return list(_search(session, question).candidates)


def with_adjacent(session: Session, question: Question) -> list[Candidate]:
    found = _search(session, question)
    lines = adjacent_lines(list(found.weighed.values()), found.subgraphs, found.weighed)
    return [*found.candidates, *(line.candidate for line in lines)]


def more(session: Session, question: Question) -> list[Candidate]:
    usual = retrieve.thresholds(session.embedder.name)
    lower = replace(usual, line=0.8 * usual.line)
    with (
        mock.patch.object(find, "SHOWN", TWICE["SHOWN"]),
        mock.patch.object(retrieve, "PASSAGES", TWICE["PASSAGES"]),
        mock.patch.object(retrieve, "thresholds", return_value=lower),
    ):
        return alone(session, question)


WAYS: dict[str, Callable[[Session, Question], list[Candidate]]] = {
    "what is found": alone,
    "with adjacent passages": with_adjacent,
    "more of what is found": more,
}


def _search(session: Session, question: Question) -> find.Found:
    return find.Finder(session.settings, session.store, session.embedder).search(make_query(question.text))


def shown(question: Question, candidates: list[Candidate]) -> Shown:
    chosen = select_lines(candidates, count_tokens=lambda text: len(text) // 4, token_budget=BUDGET)
    wanted = _wanted(question)
    there = wanted & content_words(" ".join(line.text for line in chosen.lines))
    return Shown(len(there) / len(wanted), float(there == wanted), len(chosen.lines), chosen.tokens)


def _wanted(question: Question) -> frozenset[str]:
    answer = content_words(question.answer)
    return answer - content_words(question.text) or answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="Where the stores are kept.")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=["lihua", "medical"])
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--half", choices=("dev", "test", "all"), default="test")
    parser.add_argument("--questions", type=int, default=200, help="Of each corpus, at most.")
    args = parser.parse_args()
    print("| corpus | shown | n | words of the answer, % | more | whole answers, % | more | lines | tokens |")
    print("|---|---|---|---|---|---|---|---|---|")
    for corpus in args.corpora:
        asked = [one for one in drawn(args.data, [corpus], args.questions, args.half) if _wanted(one)]
        asked = [one for one in asked if one.answer.strip().lower().rstrip(".") not in ("yes", "no")]
        store = made(args.folder, corpus, documents(args.data, corpus), args.embedder)
        with Resources(store).reading() as session:
            first: list[Shown] = []
            for name, way in WAYS.items():
                every = [shown(one, way(session, one)) for one in asked]
                first = first or every
                cells = [corpus, name, len(every), *_compared(every, first, "words"), *_compared(every, first, "whole")]
                cells += [f"{sum(getattr(one, what) for one in every) / len(every):.0f}" for what in ("lines", "tokens")]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


def _compared(every: list[Shown], first: list[Shown], what: str) -> tuple[str, str]:
    """Return the mean in percent, and how much more it is than the first."""
    values, others = ([float(getattr(one, what)) for one in some] for some in (every, first))
    low, middle, high = paired_difference(values, others)
    gain = "" if every is first else f"{100 * middle:+.1f} ({100 * low:.1f} to {100 * high:.1f})"
    return f"{100 * sum(values) / len(values):.1f}", gain


if __name__ == "__main__":
    main()
