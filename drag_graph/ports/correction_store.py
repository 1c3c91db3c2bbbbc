"""Corrections: a person's verdicts on claims and answers (docs/how-to/correct-refresh-erase.md)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from drag_graph.identity import claim_id, content_id
from drag_graph.model import Triple, sentence_of
from drag_graph.ports.graph_search import Fact
from drag_graph.values import Ids, Value

Verdict = Literal["right", "wrong"]
Target = Literal["claim", "answer"]


class Correction(Value):
    """A person's latest verdict on a claim or an answer.

    `target_id` is the id of the claim or answer, `text` the claim as a sentence or the question, `source_ids` are the sources
    behind it. Only a claim has `subject`, `object` and `predicate_key`. `undone_at` and `undone_by` are empty until the
    verdict is undone.
    """

    target_id: str
    kind: Target
    verdict: Verdict
    note: str = ""
    author: str
    created_at: str
    undone_at: str = ""
    undone_by: str = ""
    text: str
    source_ids: Ids
    subject: str = ""
    object: str = ""
    predicate_key: str = ""

    def id_in(self, namespace: str) -> str:
        """Return the id of its node."""
        return content_id(namespace, "correction", self.target_id)

    @property
    def changed_at(self) -> str:
        """When it was made or undone."""
        return max(self.created_at, self.undone_at)

    def is_of_claim(self, namespace: str) -> bool:
        """Return whether this is about one claim, and its target is the id of that claim."""
        if self.kind != "claim" or len(self.source_ids) != 1:
            return False
        (source_id,) = self.source_ids
        subject, object_ = (content_id(namespace, "entity", source_id, name) for name in (self.subject, self.object))
        return self.target_id == claim_id(source_id, subject, object_, self.predicate_key)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, as `correct --json` prints it."""
        return self.model_dump(mode="json")

    def __str__(self) -> str:
        undone = f", undone by {self.undone_by}, {self.undone_at}" if self.undone_at else ""
        note = f": {self.note}" if self.note else ""
        return f"marked {self.verdict} by {self.author}, {self.created_at}{undone}{note}"


@dataclass(frozen=True, slots=True)
class RejectedClaims:
    """The ids of claims that are marked wrong, and of their sources."""

    ids: frozenset[str] = frozenset()
    source_ids: frozenset[str] = frozenset()

    @classmethod
    def of(cls, corrections: Iterable[Correction]) -> "RejectedClaims":
        """Return what these corrections reject."""
        wrong = [item for item in corrections if (item.kind, item.verdict, item.undone_at) == ("claim", "wrong", "")]
        return cls(frozenset(item.target_id for item in wrong), frozenset(id_ for item in wrong for id_ in item.source_ids))

    def __contains__(self, item: Triple | Fact) -> bool:
        return item.source_id in self.source_ids and claim_of(item) in self.ids


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """A claim of a stored source."""

    source_id: str
    subject_id: str
    subject: str
    predicate: str
    predicate_key: str
    object_id: str
    object: str

    @property
    def text(self) -> str:
        """The claim as a sentence."""
        return sentence_of(self.subject, self.predicate, self.object)


def claim_of(item: Triple | Fact | StoredClaim) -> str:
    """Return the id of the claim that a triple or fact belongs to."""
    return claim_id(item.source_id, item.subject_id, item.object_id, item.predicate_key)


class CorrectionStore(Protocol):
    """The corrections of one namespace. Thread-safe; raises as the methods of `GraphStore` do.

    A correction of a claim stays when its source is distilled or read again. It is erased with its source or answer.
    """

    def read(self) -> list[Correction]:
        """Return all corrections, most recently changed first, ties by the id of their target."""

    def rejected(self) -> RejectedClaims:
        """Return the claims that are marked wrong and not undone."""

    def write(self, corrections: Sequence[Correction]) -> int:
        """Write corrections in one transaction. Each replaces that of the same target. Return their number.

        A correction whose first source is not stored is not written, so that erased content does not come back.
        """

    def claims(self) -> Iterator[StoredClaim]:
        """Yield the claims of all sources, some more than once; streams."""
