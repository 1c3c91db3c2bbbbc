"""One evaluation: ask every item in every mode, and write each answer to a folder as it comes."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal

from drag_graph.ask.answers import gold_texts
from drag_graph.ask.ask_result import AnswersReport, AskResult
from drag_graph.ask.asker import Asker
from drag_graph.ask.support import without_citations
from drag_graph.concurrency.threads import in_order
from drag_graph.errors import InputError
from drag_graph.evaluation import metrics, outcome, plots
from drag_graph.evaluation.outcome import ITEMS, Record, by_mode, compare_records, read_records
from drag_graph.evaluation.tasks import TaskItem
from drag_graph.files import write_lines
from drag_graph.graph.answer_leaks import leaks
from drag_graph.graph.paging import pages
from drag_graph.model import Query, Subgraph

EvaluationMode = Literal["none", "evidence", "graph", "combined", "shuffled", "rotated", "bm25", "cosine"]
"""The context of a question. The first four are the student's ordinary modes, and the only ones with a search.

    shuffled        the evidence of another item, as a control: it must not help
    rotated         `evidence` with the options in another order, as a control: it must not matter
    bm25, cosine    plain pieces of documents, found by words or by similarity
"""
STORED: frozenset[EvaluationMode] = frozenset({"evidence", "graph", "combined", "shuffled", "rotated"})
"""Modes that show what has been distilled."""
Read = Callable[[Sequence[str]], list[Subgraph]]
LinesOf = Callable[[Sequence[TaskItem]], Sequence[Sequence[Subgraph] | None]]
"""Returns for each item the subgraphs whose lines the student is shown, or None for lines of a search."""
PAGE = 16
"""Items between two writes for a student that answers faster than a write takes."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Asks the items in all modes and writes the outcome to a folder."""

    folder: Path
    items: Sequence[TaskItem]
    modes: Sequence[EvaluationMode]
    asker: Callable[[EvaluationMode], Asker]
    own_lines: LinesOf
    other_lines: Mapping[EvaluationMode, LinesOf]
    """Modes that show something else than the item's own subgraph. Their answers are not stored."""
    about: dict[str, Any]
    """Everything that determines the answers. A changed value makes it another evaluation."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of the summary."""
    page: int = 1
    """Items between two writes."""
    workers: int = 1
    """Pages that are asked at the same time. They are written in order."""

    def run(self, on_answers: Callable[[int], None] = lambda _number: None) -> dict[str, Any]:
        """Ask what has not been asked yet, and return the summary. `on_answers` is called with the number of further answers.

        Raises InputError if the folder holds another evaluation, and the error that stops the student; answers until then are
        kept.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        done = {(record.mode, record.id) for record in self._earlier_records()}
        with (self.folder / ITEMS).open("a", encoding="utf-8") as file:
            for mode in self.modes:
                left = [item for item in self.items if (mode, item.query.id) not in done]
                on_answers(len(self.items) - len(left))
                for records in self._ask(mode, left):
                    file.writelines(_json_lines(records))
                    file.flush()
                    on_answers(len(records))
        records = read_records(self.folder)
        summary = summary_of(records, {**self.about, **self.notes})
        write_lines(self.folder / outcome.SUMMARY, [json.dumps(summary, ensure_ascii=False, indent=2)])
        write_lines(self.folder / outcome.TABLE, outcome.markdown_table(summary).splitlines())
        plots.draw(records, self.folder)
        return summary

    def _earlier_records(self) -> list[Record]:
        """Return what an interrupted evaluation has left in the folder. Raises InputError if it was another evaluation."""
        about = self.folder / outcome.ABOUT
        items = self.folder / ITEMS
        if not about.exists():
            if items.exists():
                raise InputError(
                    f"{self.folder} has items but no {outcome.ABOUT}.", hint="Choose another folder with `folder=FOLDER`."
                )
            write_lines(about, [json.dumps(self.about, ensure_ascii=False, indent=2)])
            return []
        earlier = outcome.read_about(self.folder)
        compared = {*earlier, *self.about} - {"git"}  # most commits change no answer; the summary has the last one
        changed = sorted(key for key in compared if earlier.get(key) != self.about.get(key))
        if changed:
            message = f"{self.folder} holds an evaluation with another {', '.join(changed)}."
            raise InputError(message, hint=f"Choose another folder with `folder=FOLDER`, or delete {self.folder}.")
        if not items.exists():
            return []
        records = read_records(self.folder)
        write_lines(items, (line.rstrip("\n") for line in _json_lines(records)))  # without a line that was cut off
        return records

    def _ask(self, mode: EvaluationMode, items: Sequence[TaskItem]) -> Iterable[list[Record]]:
        """Yield the records page by page."""
        lines_of, askers = self.other_lines.get(mode, self.own_lines), SimpleQueue[Asker]()
        for _ in range(self.workers):
            askers.put(self.asker(mode))

        def ask(page: Sequence[TaskItem]) -> AnswersReport:
            asker = askers.get()
            try:
                queries = [_query_in_mode(mode, item.query) for item in page]
                return asker.ask_with(zip(queries, lines_of(page), strict=True), own=mode not in self.other_lines)
            finally:
                askers.put(asker)

        asked = list(pages(items, self.page))
        for page, report in zip(asked, in_order(ask, asked, self.workers), strict=True):
            queries = (_query_in_mode(mode, item.query) for item in page)
            yield [record_of(query, result, mode) for query, result in zip(queries, report.answers, strict=False)]
            if report.stopped is not None:
                raise report.stopped


def _json_lines(records: Iterable[Record]) -> Iterable[str]:
    return (json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records)


def searched_lines(items: Sequence[TaskItem]) -> list[None]:
    """Show each item what a search of the store finds for it."""
    return [None] * len(items)


def own_subgraphs(read: Read) -> LinesOf:
    """Show each item its own subgraph, or nothing if it has none."""

    def lines_of(items: Sequence[TaskItem]) -> list[Sequence[Subgraph]]:
        stored = {graph.source_id: graph for graph in read([item.query.id for item in items])}
        return [[stored[item.query.id]] if item.query.id in stored else [] for item in items]

    return lines_of


def shuffled_subgraphs(items: Sequence[TaskItem], read: Read) -> LinesOf:
    """Show each item the subgraph of the item half the set away, because neighbours often share a topic.

    Raises InputError if there is only one item.
    """
    if len(items) < 2:  # noqa: PLR2004 - the item and another one
        raise InputError("The mode shuffled needs at least two items.", hint="Evaluate more items, or leave the mode out.")
    half = len(items) // 2
    other = {item.query.id: items[(place + half) % len(items)] for place, item in enumerate(items)}
    return lambda page: own_subgraphs(read)([other[item.query.id] for item in page])


def _query_in_mode(mode: EvaluationMode, query: Query) -> Query:
    """Return the question; in the mode `rotated` its options are rotated by half of their number."""
    if mode != "rotated" or not isinstance(query.gold, int):
        return query
    half, count = len(query.options) // 2, len(query.options)
    options = (*query.options[half:], *query.options[:half])
    return query.model_copy(update={"options": options, "gold": (query.gold - half) % count})


def record_of(query: Query, result: AskResult, mode: str) -> Record:
    """Return the record of an answer. To a question without an answer, only an abstention is correct."""
    given, original = result.answer, result.reidentified().answer  # gold answers are compared with the original names
    golds, answerable = gold_texts(query), query.gold != ()
    abstained = result.abstained or not (result.problem or result.is_answered)
    f1 = metrics.token_f1(without_citations(original.text), golds) if answerable else float(abstained)
    return Record(
        id=query.id,
        mode=mode,
        question=query.text,
        options=query.options,
        gold=given.gold or "",
        answer=given.text,
        label=given.label,
        correct=(bool(given.correct) if answerable else abstained) and not result.problem,
        confidence=given.confidence,
        probabilities=tuple(round(value, 6) for value in result.probabilities),
        lines=tuple(line.text for line in given.lines),
        leaking=sum(leaks(line.text, query, gold_texts(query)) for line in original.lines),
        answer_id=result.stored_id,
        prompt_hash=result.prompt_hash,
        prompt_tokens=given.prompt_tokens,
        context_tokens=result.context_tokens,
        seconds=given.latency_ms / 1000,
        f1=None if query.options else f1,
        error=result.problem,
        golds=golds if given.gold and not query.options else (),  # behind a privacy gate, they are not recorded
        answerable=answerable,
        abstained=abstained,
        facts=result.facts,
    )


def summary_of(records: Sequence[Record], about: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of all modes, their gains over `none`, and the leakage."""
    modes = by_mode(records)
    unaided = modes.get("none", [])
    aided = {mode: group for mode, group in modes.items() if unaided and mode != "none"}
    return {
        **about,
        "n": max(map(len, modes.values()), default=0),
        "modes": {mode: outcome.figures(group) for mode, group in modes.items()},
        "gains": {mode: compare_records(group, unaided).figures() for mode, group in aided.items()},
        "leakage": {mode: outcome.leakage(group, unaided) for mode, group in modes.items()},
    }
