"""The evaluation of a student on a task: distill what is missing, ask every item in every mode, keep what was shown and said.

Stores and models come in by the pipeline's own doors: what is measured is what a user gets.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from drag_graph.ask.ask_result import AskResult
from drag_graph.ask.asker import Asker
from drag_graph.errors import InputError
from drag_graph.evaluation import leakage, metrics, outcome
from drag_graph.evaluation import plots as pictures
from drag_graph.evaluation.outcome import ITEMS, SUMMARY, TABLE, Record, by_mode, difference, read_records
from drag_graph.evaluation.tasks import TaskItem
from drag_graph.files import write_lines
from drag_graph.graph.paging import pages
from drag_graph.model import Query, Subgraph

EvaluationMode = Literal[
    "none", "evidence", "graph", "combined", "shuffled", "rotated", "bm25", "cosine", "lightrag", "teacher"
]
"""`shuffled` shows the evidence of another item: it must not help. `rotated` is `evidence` with the options in another order:
it must not matter. `bm25` and `cosine` show passages of documents, `lightrag` what LightRAG finds in them. `teacher` asks the
teacher itself, without lines."""
Read = Callable[[Sequence[str]], list[Subgraph]]
LinesOf = Callable[[Sequence[TaskItem]], list[list[Subgraph]]]
"""From items to the subgraphs whose lines each is shown."""
PAGE = 16
"""Items that are asked between two writes, where an answer takes no longer than a write."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is asked, by whom, and where it is kept."""

    folder: Path
    items: Sequence[TaskItem]
    modes: Sequence[EvaluationMode]
    asker: Callable[[EvaluationMode], Asker]
    own: LinesOf
    lines_of: Mapping[EvaluationMode, LinesOf]
    """The modes that show something else than the item's own subgraph. Their answers are not kept."""
    about: dict[str, Any]
    """What determines the answers: an evaluation goes on only under the same."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What the summary tells beside."""
    page: int = 1
    """Items that are asked between two writes: what a kill loses."""

    def run(self, on_item: Callable[[float], None] = lambda _cost: None) -> dict[str, Any]:
        """Ask what is not asked yet; return the summary, which is written beside the items.

        Raises InputError where the folder holds an evaluation of something else, and what ends the asking altogether; what was
        answered until then is kept.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.folder / ".lock", timeout=0):
                return self._run(on_item)
        except Timeout as error:
            message = f"{self.folder} is being evaluated by another process"
            raise InputError(message, hint="Wait for it, or give another --folder.") from error

    def _run(self, on_item: Callable[[float], None]) -> dict[str, Any]:
        done = {(record.mode, record.id): record for record in self._begun()}
        with (self.folder / ITEMS).open("a", encoding="utf-8") as file:
            for mode in self.modes:
                left = [item for item in self.items if (mode, item.query.id) not in done]
                for _ in range(len(self.items) - len(left)):
                    on_item(0.0)
                for record in self._asked(mode, left, on_item):
                    file.write(json.dumps(record.document(), ensure_ascii=False) + "\n")
                    file.flush()
        records = read_records(self.folder)
        summary = summary_of(records, {**self.about, **self.notes})
        write_lines(self.folder / SUMMARY, [json.dumps(summary, ensure_ascii=False, indent=2)])
        write_lines(self.folder / TABLE, outcome.table(summary).splitlines())
        pictures.draw(records, self.folder)
        return summary

    def _begun(self) -> list[Record]:
        """Return what the folder has already, after checking that it is of the same evaluation."""
        about = self.folder / outcome.ABOUT
        if not about.exists():
            if (self.folder / ITEMS).exists():
                raise InputError(f"{self.folder} has items and does not say of what", hint="Give another folder.")
            write_lines(about, [json.dumps(self.about, ensure_ascii=False, indent=2)])
            return []
        known = outcome.read_about(self.folder)
        compared = {*known, *self.about} - {"git"}  # most commits change no answer; the summary names the last
        changed = sorted(key for key in compared if known.get(key) != self.about.get(key))
        if changed:
            message = f"{self.folder} holds an evaluation with another {', '.join(changed)}"
            raise InputError(message, hint="Give another folder with --folder, or remove that one.")
        if not (self.folder / ITEMS).exists():
            return []
        records = read_records(self.folder)
        # Without a line that was cut off.
        write_lines(self.folder / ITEMS, (json.dumps(record.document(), ensure_ascii=False) for record in records))
        return records

    def _asked(self, mode: EvaluationMode, items: Sequence[TaskItem], on_item: Callable[[float], None]) -> Iterable[Record]:
        asker, lines_of = self.asker(mode), self.lines_of.get(mode, self.own)
        for page in pages(items, self.page):
            queries = [_in_mode(mode, item.query) for item in page]
            shown = zip(queries, lines_of(page), strict=True)
            report = asker.ask_with(list(shown), on_item, own=mode not in self.lines_of)
            for query, asked in zip(queries, report.answers, strict=False):
                yield record_of(query, asked, mode)
            if report.stopped is not None:
                raise report.stopped


def own(read: Read) -> LinesOf:
    """Show an item its own subgraph, or nothing where it could not be distilled."""

    def lines_of(items: Sequence[TaskItem]) -> list[list[Subgraph]]:
        stored = {graph.source_id: graph for graph in read([item.query.id for item in items])}
        return [[stored[item.query.id]] if item.query.id in stored else [] for item in items]

    return lines_of


def _in_mode(mode: EvaluationMode, query: Query) -> Query:
    """Return the question with its options rotated by half of them where the mode is `rotated`."""
    if mode != "rotated" or not isinstance(query.gold, int):
        return query
    half, count = len(query.options) // 2, len(query.options)
    options = (*query.options[half:], *query.options[:half])
    return query.model_copy(update={"options": options, "gold": (query.gold - half) % count})


def of_another(items: Sequence[TaskItem], read: Read) -> LinesOf:
    """Show the subgraph of the item half the set away: sets are often in order of their topics.

    Raises InputError where there is no other item.
    """
    if len(items) < 2:  # noqa: PLR2004 - one item and another
        raise InputError("shuffled needs another item to take the evidence of", hint="Evaluate more items, or leave it out.")
    away = len(items) // 2
    other = {item.query.id: items[(place + away) % len(items)] for place, item in enumerate(items)}
    return lambda page: own(read)([other[item.query.id] for item in page])


def record_of(query: Query, asked: AskResult, mode: str) -> Record:
    """Return what is kept of an answer."""
    given, said = asked.answer, asked.reidentified().answer  # a right answer is compared with what was said
    return Record(
        id=query.id,
        mode=mode,
        question=query.text,
        options=query.options,
        gold=given.gold or "",
        answer=given.text,
        label=given.label,
        correct=bool(given.correct) and not asked.problem,
        confidence=given.confidence,
        probabilities=tuple(round(value, 6) for value in asked.probabilities),
        lines=tuple(line.text for line in given.lines),
        leaking=sum(leakage.leaks(line.text, query) for line in said.lines),
        answer_id=asked.stored_id,
        prompt_hash=asked.prompt_hash,
        prompt_tokens=given.prompt_tokens,
        context_tokens=asked.context_tokens,
        seconds=given.latency_ms / 1000,
        f1=None if query.options else metrics.token_f1(said.text, _golds(query)),
        error=asked.problem,
    )


def _golds(query: Query) -> Sequence[str]:
    return [query.gold] if isinstance(query.gold, str) else query.gold if isinstance(query.gold, tuple) else ()


def summary_of(records: Sequence[Record], about: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of all modes, the gains over `none` and what leaked."""
    modes = by_mode(records)
    none = modes.get("none")
    gains = {}
    for mode, found in modes.items():
        if none and mode != "none":
            gain = difference(found, none)
            gains[mode] = {key: gain[key] for key in ("n", "difference", "low", "high", "p")}
    return {
        **about,
        "n": max((len(found) for found in modes.values()), default=0),
        "modes": {mode: outcome.figures(found) for mode, found in modes.items()},
        "gains": gains,
        "leakage": {mode: outcome.leakage(found, none or ()) for mode, found in modes.items()},
    }
