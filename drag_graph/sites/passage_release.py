"""What leaves a site: summaries, and the passages that its settings release, each after the privacy gate. Nothing else.

Nothing of a source in `never_leave` leaves: no passage, and no summary of a community that includes one of its entities.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache

from pydantic import ValidationError

from drag_graph.ask.context_lines import Candidate
from drag_graph.ask.find_lines import FoundLines
from drag_graph.errors import Withheld
from drag_graph.graph.paging import pages, source_ids
from drag_graph.model import Evidence, LineKind, Subgraph
from drag_graph.ports.graph_store import GraphStore
from drag_graph.sites import wire

NO_PASSAGES = "the site does not release passages"
KEPT = "the site does not release what is behind the line"
GONE = "the source of the line is no longer stored"
PAGE = 50
"""Sources read in one round trip."""
Generalise = Callable[[str], str]
"""Returns a text with private details generalised. Raises Withheld."""


class Release:
    """Applies the release settings of a site. `generalise` comes from the privacy gate; None if there is no gate."""

    def __init__(self, release: str, never_leave: Collection[str], generalise: Generalise | None) -> None:
        self.has_passages = release == "passages"
        self._never_leave = tuple(never_leave)
        self.search_text: Generalise = generalise or (lambda text: text)
        """Returns the text to search for, generalised like the passages.

        Otherwise a released "Person A is ill" would be known to be about the person whom the question names.
        """
        self.staying: frozenset[str] = frozenset()
        """Ids of the stored sources that never leave, as of the last call of `summaries`. A search leaves them out."""
        self._summary_text = lru_cache(wire.MOST_SUMMARIES)(self.search_text)
        """`search_text` for summaries: each passes the gate only once, unless it is withheld."""

    def never_leaves(self, source: Subgraph) -> bool:
        """Whether nothing of a source may leave, by its id, title or file name."""
        uri = source.document.uri if source.document else ""
        names = (source.source_id, source.title, uri, uri.rpartition("/")[2])
        return any(fnmatchcase(name, pattern) for name in names if name for pattern in self._never_leave)

    def summaries(self, store: GraphStore) -> tuple[dict[str, str], int]:
        """Return the summaries of the stored communities that may leave, by key, and the number of withheld ones."""
        staying_entities = self._find_staying(store)
        texts: dict[str, str] = {}
        withheld = 0
        for community in store.communities.read():
            if not community.summary:
                continue
            summary = f"{community.name}\n{community.summary}".strip()[: wire.LONGEST_SUMMARY]
            may_leave = staying_entities.isdisjoint(community.entities)
            text = self._released_text(summary, self._summary_text) if may_leave else None
            if text is None or len(texts) >= wire.MOST_SUMMARIES:
                withheld += 1
            else:
                texts[community.id] = text
        return texts, withheld

    def _find_staying(self, store: GraphStore) -> set[str]:
        """Note which sources never leave, and return the ids of their entities."""
        if not self._never_leave:
            return set()
        graphs = (graph for ids in pages(source_ids(store), PAGE) for graph in store.read(ids))
        staying = {graph.source_id: [entity.id for entity in graph.entities] for graph in graphs if self.never_leaves(graph)}
        self.staying = frozenset(staying)
        return {id_ for ids in staying.values() for id_ in ids}

    def reply(self, found: FoundLines) -> wire.SiteReply:
        """Return what may leave of the lines found for a question, best first.

        Sources that never leave are not counted as withheld: the count would reveal if they contain a word of the question.
        """
        sources = {graph.source_id: graph for graph in found.subgraphs}
        staying = {id_ for id_, source in sources.items() if self.never_leaves(source)}
        candidates = [item for item in found.candidates if item.source_id not in staying]
        ranked = sorted(candidates, key=lambda item: (-(item.score or 0.0), item.rank))
        passages = tuple(self._passages(ranked, sources))
        return wire.SiteReply(passages=passages[: wire.MOST_PASSAGES], withheld=len(ranked) - len(passages))

    def origin(self, line: wire.LineRef, source: Subgraph | None) -> wire.SiteReply:
        """Return what may leave of the evidence behind a line, best first. `source` is the stored source of the line."""
        if not self.has_passages:
            return wire.SiteReply(problem=NO_PASSAGES)
        evidence = _evidence_behind(line.kind, line.ref, source) if source else []
        if source is None or not evidence:
            return wire.SiteReply(problem=GONE)
        items = [Candidate("evidence", it.id, source.source_id, it.text, it.text, n) for n, it in enumerate(evidence)]
        passages = tuple(self._passages(items, {source.source_id: source}))
        return wire.SiteReply(passages=passages, withheld=len(items) - len(passages), problem="" if passages else KEPT)

    def _passages(self, candidates: Sequence[Candidate], sources: dict[str, Subgraph]) -> Iterator[wire.ReleasedPassage]:
        for item in candidates[: wire.MOST_PASSAGES]:
            source = sources.get(item.source_id)
            if source is None or self.never_leaves(source) or len(item.text) > wire.LONGEST_PASSAGE:
                continue
            text, document = self._released_text(item.text), _span(item, source)
            name = self._released_text(document.name) if document else ""
            if text is None or name is None:
                continue
            with suppress(ValidationError):  # a passage that the protocol does not allow stays here
                yield wire.ReleasedPassage(
                    source_id=source.source_id,
                    kind=item.kind,
                    ref=item.ref,
                    text=text,
                    document=document and document.model_copy(update={"name": name}),
                    generalised=text != item.text,
                )

    def _released_text(self, text: str, generalise: Generalise | None = None) -> str | None:
        """Return a text in the form in which it leaves, or None if it does not."""
        try:
            return (generalise or self.search_text)(text)[: wire.LONGEST_PASSAGE]
        except Withheld:
            return None


def _span(item: Candidate, source: Subgraph) -> wire.DocumentSpan | None:
    """Return the place of a line in its document; for an edge, the place of the first evidence behind it."""
    document = source.document
    if document is None:
        return None
    evidence = _evidence_behind(item.kind, item.ref, source)[:1]
    start, end = (evidence[0].start, evidence[0].end) if evidence else (0, 0)
    return wire.DocumentSpan(id=document.id, name=document.name[-200:], start=start, end=end)


def _evidence_behind(kind: LineKind, ref: str, source: Subgraph) -> list[Evidence]:
    """Return the evidence behind a line, best first."""
    ids = [ref]
    if kind == "edge":
        ids = [id_ for edge in source.usable_edges if edge.id == ref for id_ in edge.evidence_ids]
    evidence = {item.id: item for item in source.evidence}
    return [evidence[id_] for id_ in ids if id_ in evidence]
