"""What is behind lines that an edge was given: the cloud asks the edges that they are from, and keeps nothing of it."""

import asyncio
import hmac
from collections.abc import Mapping, Sequence

from drag_graph import log
from drag_graph.graph.edge_text import one_line
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.site_registry import RegisteredEdge, edge_id
from drag_graph.sites.cloud.work_board import WITHDRAWN, WorkBoard
from drag_graph.sites.wire import EdgeOrigins, EdgeReply, GivenLine, LineRef, receipt_of

NOT_GIVEN = "the cloud did not give this edge that line, or the token of the edge that it is from has changed"
MISCOUNTED = "its reply was refused: not as many lines as were asked for"
IMPOSSIBLE = "a passage of its reply cannot be from where it says"


async def origins(
    store: GraphStore, board: WorkBoard, asker: RegisteredEdge, lines: Sequence[GivenLine], seconds: float
) -> EdgeOrigins:
    """Return what the edges say is behind these lines, within a deadline. Raises StoreError.

    A line that the asker was not given is asked of nobody.
    """
    ids = {edge_id(store.namespace, line.edge) for line in lines}
    known = {edge.name: edge for edge in await asyncio.to_thread(store.registry.edges, ids)}
    found = {line: EdgeReply(problem=problem) for line in lines if (problem := _refused(known, asker, line))}
    by_edge: dict[str, list[GivenLine]] = {}
    for line in dict.fromkeys(lines):
        if line not in found:
            by_edge.setdefault(line.edge, []).append(line)
    told = await asyncio.gather(*(_asked(board, known[name].id, some, seconds) for name, some in by_edge.items()))
    for some, replies in zip(by_edge.values(), told, strict=True):
        found |= zip(some, replies, strict=True)
    log.event("audit", edges=len(by_edge), lines=len(lines), refused=len(lines) - sum(map(len, by_edge.values())))
    return EdgeOrigins(lines=tuple(found[line] for line in lines))


def _refused(known: Mapping[str, RegisteredEdge], asker: RegisteredEdge, line: GivenLine) -> str:
    """Return why a line is not asked for; '' where it is."""
    if line.edge not in known:
        return WITHDRAWN
    wanted = receipt_of(known[line.edge].token_sha256, asker.name, line)
    return "" if hmac.compare_digest(line.receipt, wanted) else NOT_GIVEN


async def _asked(board: WorkBoard, id_: str, lines: Sequence[GivenLine], seconds: float) -> Sequence[EdgeReply]:
    """Return what an edge says is behind each of its lines."""
    refs = [LineRef(source_id=line.source_id, kind=line.kind, ref=line.ref) for line in lines]
    outcome = await board.ask(id_, seconds, lines=refs)
    if not isinstance(outcome, EdgeOrigins):
        return [EdgeReply(problem=str(outcome))] * len(lines)
    if len(outcome.lines) != len(lines):
        return [EdgeReply(problem=MISCOUNTED)] * len(lines)
    return [_checked(reply) for reply in outcome.lines]


def _checked(reply: EdgeReply) -> EdgeReply:
    if not all(item.is_possible for item in reply.passages):
        return EdgeReply(withheld=reply.withheld, problem=IMPOSSIBLE)
    return reply.model_copy(update={"problem": one_line(reply.problem)})
