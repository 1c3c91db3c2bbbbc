"""Do the passages beside those that were found help? For docs/adr/0045.

    python bench/beside.py --data FOLDER --folder KEPT [--corpora lihua medical] [--embedder minilm] [--questions 200]

Each question is asked in one graph of its corpus, in three ways: with what is found alone, with the passages beside the
closest ones, and, at about the same cost, with more of what is found. For each way the table gives the share of the right
answer's words (those that the question does not have) among the lines that fit into the token budget, the share of answers
all of whose words are there, their differences to what is found alone (95 % intervals by the bootstrap), lines and tokens.
Questions with the answer yes or no are left out. KEPT has the stores that were made.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from edges_corpora import CORPORA, Question, documents, drawn, made

from drag_graph.ask import beside, find, retrieve
from drag_graph.ask.lines import content_words, select_lines
from drag_graph.bootstrap import Session, open_session
from drag_graph.evaluation.statistics import paired_difference
from drag_graph.inputs import make_query

BUDGET = 1024
"""Tokens, as by default."""
WAYS = {"what is found": (0, 1), "with the passages beside it": (beside.PASSAGES, 1), "more of what is found": (0, 2)}
"""How many passages bring those beside them, and how many times the default number of lines is found."""


@dataclass(frozen=True)
class Shown:
    """What the lines for a question have of its answer, and how many they are."""

    words: float
    whole: float
    lines: int
    tokens: int


@contextmanager
def way(passages: int, times: int) -> Iterator[None]:
    kept = beside.PASSAGES, retrieve.PASSAGES, find.SHOWN, retrieve.DEFAULT_LINE_RELEVANCE
    beside.PASSAGES, retrieve.PASSAGES, find.SHOWN = passages, kept[1] * times, kept[2] * times
    if times > 1:
        retrieve.DEFAULT_LINE_RELEVANCE = 0.5
    try:
        yield
    finally:
        beside.PASSAGES, retrieve.PASSAGES, find.SHOWN, retrieve.DEFAULT_LINE_RELEVANCE = kept


def shown(session: Session, question: Question) -> Shown:
    found = find.Finder(session.settings, session.store, session.embedder).search(make_query(question.text))
    chosen = select_lines(found.candidates, count_tokens=lambda text: len(text) // 4, token_budget=BUDGET)
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
    print("| corpus | shown | n | words of the answer, % | less | whole answers, % | less | lines | tokens |")
    print("|---|---|---|---|---|---|---|---|---|")
    for corpus in args.corpora:
        asked = [one for one in drawn(args.data, [corpus], args.questions, args.half) if _wanted(one)]
        asked = [one for one in asked if one.answer.strip().lower().rstrip(".") not in ("yes", "no")]
        store = made(args.folder, corpus, documents(args.data, corpus), args.embedder)
        with open_session(store, create=False, read_only=True) as session:
            alone: list[Shown] = []
            for name, (passages, times) in WAYS.items():
                with way(passages, times):
                    every = [shown(session, one) for one in asked]
                alone = alone or every
                cells = [corpus, name, len(every), *_compared(every, alone, "words"), *_compared(every, alone, "whole")]
                cells += [f"{sum(getattr(one, what) for one in every) / len(every):.0f}" for what in ("lines", "tokens")]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


def _compared(every: list[Shown], alone: list[Shown], what: str) -> tuple[str, str]:
    """Return the mean in percent, and how much it is more than that of the lines alone."""
    values, others = ([float(getattr(one, what)) for one in some] for some in (every, alone))
    low, middle, high = paired_difference(values, others)
    less = "" if every is alone else f"{100 * middle:+.1f} ({100 * low:.1f} to {100 * high:.1f})"
    return f"{100 * sum(values) / len(values):.1f}", less


if __name__ == "__main__":
    main()
