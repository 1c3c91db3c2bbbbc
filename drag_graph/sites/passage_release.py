"""What leaves an edge: summaries, and the passages that its settings release, each after the privacy gate. Nothing else.

Of a source that never leaves nothing does: no passage, and no summary of a community that has anything of it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pydantic import ValidationError

from drag_graph.ask.context_lines import Candidate
from drag_graph.ask.find_lines import Found
from drag_graph.errors import Withheld
from drag_graph.graph.paging import pages, source_ids
from drag_graph.model import Document, Evidence, LineKind, Subgraph
from drag_graph.ports.community_store import Community
from drag_graph.ports.graph_store import GraphStore
from drag_graph.sites.wire import (
    LONGEST_PASSAGE,
    LONGEST_SUMMARY,
    MOST_PASSAGES,
    MOST_SUMMARIES,
    DocumentSpan,
    EdgeReply,
    LineRef,
    ReleasedPassage,
)

NO_PASSAGES = "it releases no passages"
KEPT = "what is behind the line is kept at the edge"
GONE = "what was behind the line is not stored there any more"
PAGE = 50
"""Sources that are read in one round trip."""
Generalise = Callable[[str], str]
"""Returns a text as it may leave: private details generalised. Raises Withheld."""


@dataclass(frozen=True, slots=True)
class SummariesToShare:
    """The texts that leave, by key, and how many communities keep theirs."""

    texts: dict[str, str]
    withheld: int = 0


class Release:
    """What one edge's settings let out. `generalise` is the privacy gate's part; None where there is no gate."""

    def __init__(self, release: str, never_leave: Collection[str], generalise: Generalise | None) -> None:
        self.has_passages = release == "passages"
        self._never = tuple(never_leave)
        self._generalise = generalise
        self.staying: frozenset[str] = frozenset()
        """The ids of the stored sources that never leave, as of the last `summaries`. A search leaves them out."""
        self._seen: dict[str, str | None] = {}
        """What became of summaries in the gate, so that each passes it once."""

    def never_leaves(self, source: Subgraph) -> bool:
        """Whether nothing of a source may leave: its id, name, place or question is named."""
        uri = source.document.uri if source.document else ""
        names = (source.source_id, source.title, uri, uri.rpartition("/")[2])
        return any(fnmatchcase(name, pattern) for name in names if name for pattern in self._never)

    def summaries(self, store: GraphStore) -> SummariesToShare:
        """Return the summaries of the stored communities that may leave."""
        kept_back = self._entities_that_stay(store)
        texts: dict[str, str] = {}
        withheld = 0
        for community in store.communities.read():
            if not community.summary:
                continue
            text = None if not kept_back.isdisjoint(community.entities) else self._summary(community)
            if text is None or len(texts) >= MOST_SUMMARIES:
                withheld += 1
            else:
                texts[community.id] = text
        self._seen = {text: found for text, found in self._seen.items() if found in texts.values()}
        return SummariesToShare(texts, withheld)

    def _summary(self, community: Community) -> str | None:
        text = f"{community.name}\n{community.summary}".strip()[:LONGEST_SUMMARY]
        if text not in self._seen:
            self._seen[text] = self._let_out(text)
        return self._seen[text]

    def _entities_that_stay(self, store: GraphStore) -> set[str]:
        if not self._never:
            return set()
        graphs = (graph for ids in pages(source_ids(store), PAGE) for graph in store.read(ids))
        staying = {graph.source_id: [entity.id for entity in graph.entities] for graph in graphs if self.never_leaves(graph)}
        self.staying = frozenset(staying)
        return {id_ for ids in staying.values() for id_ in ids}

    def searched_for(self, text: str) -> str:
        """Return a question's words as lines are looked for with: generalised as these leave. Raises Withheld.

        Else a line that leaves as "Person A is ill" would be told to be about the person that the question names.
        """
        return text if self._generalise is None else self._generalise(text)

    def reply(self, found: Found) -> EdgeReply:
        """Return what may leave of the lines that were found for a question, the best first.

        What never leaves is not counted either: the number would tell whether a word of the question is in it.
        """
        sources = {graph.source_id: graph for graph in found.subgraphs}
        stay = {id_ for id_, source in sources.items() if self.never_leaves(source)}
        others = [item for item in found.candidates if item.source_id not in stay]
        ranked = sorted(others, key=lambda item: (-(item.score or 0.0), item.rank))
        passages = tuple(self._released(ranked, sources))
        return EdgeReply(passages=passages[:MOST_PASSAGES], withheld=len(ranked) - len(passages))

    def origin(self, line: LineRef, source: Subgraph | None) -> EdgeReply:
        """Return what may leave of the evidence that is behind a line, best first; `source` is what is stored of its source."""
        if not self.has_passages:
            return EdgeReply(problem=NO_PASSAGES)
        behind = _behind(line.kind, line.ref, source) if source else []
        if source is None or not behind:
            return EdgeReply(problem=GONE)
        items = [Candidate("evidence", it.id, source.source_id, it.text, it.text, n) for n, it in enumerate(behind)]
        passages = tuple(self._released(items, {source.source_id: source}))
        return EdgeReply(passages=passages, withheld=len(items) - len(passages), problem="" if passages else KEPT)

    def _released(self, candidates: Sequence[Candidate], sources: dict[str, Subgraph]) -> Iterator[ReleasedPassage]:
        for item in candidates[:MOST_PASSAGES]:
            source = sources.get(item.source_id)
            if source is None or self.never_leaves(source) or len(item.text) > LONGEST_PASSAGE:
                continue
            text, document = self._let_out(item.text), _span(item, source)
            name = document and self._let_out(document.name)
            if text is None or (document and name is None):
                continue
            if document and name is not None:
                document = document.model_copy(update={"name": name})
            changed = text != item.text
            with suppress(ValidationError):  # what is of no form of the protocol stays here
                yield ReleasedPassage(
                    source_id=source.source_id,
                    kind=item.kind,
                    ref=item.ref,
                    text=text,
                    document=document,
                    generalised=changed,
                )

    def _let_out(self, text: str) -> str | None:
        """Return a text as it may leave, None where it may not."""
        if self._generalise is None:
            return text
        try:
            return self._generalise(text)[:LONGEST_PASSAGE]
        except Withheld:
            return None


def _span(item: Candidate, source: Subgraph) -> DocumentSpan | None:
    """Return where in its document a line is from: an edge of the graph names the first evidence behind it."""
    document = source.document
    if document is None:
        return None
    evidence = _behind(item.kind, item.ref, source)[:1]
    start, end = (evidence[0].start, evidence[0].end) if evidence else (0, 0)
    return DocumentSpan(id=document.id, name=_short_name(document), start=start, end=end)


def _behind(kind: LineKind, ref: str, source: Subgraph) -> list[Evidence]:
    """Return the evidence that a line rests on, best first."""
    wanted = [ref]
    if kind == "edge":
        wanted = [id_ for edge in source.usable_edges if edge.id == ref for id_ in edge.evidence_ids]
    evidence = {item.id: item for item in source.evidence}
    return [evidence[id_] for id_ in wanted if id_ in evidence]


def _short_name(document: Document) -> str:
    return document.name[-200:]
