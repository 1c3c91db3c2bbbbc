"""Ask the teacher for one sentence per edge of several triples (the paper's appendix H); optional, one call per query.

The reply goes into `Aggregation.statements`. Without it, the statement of an edge joins the sentences of its triples.
"""

from collections.abc import Sequence

from drag_graph.distill.teacher_messages import by_place, chat
from drag_graph.model import Query, SimpleEdge, Triple, sentence_of
from drag_graph.ports.model_roles import TeacherReply, TeacherRequest
from drag_graph.ports.teacher_replies import StatementsReply

PROMPT_VERSION = "statements/1"
LONGEST = 1_000
"""Maximum length of a statement in characters; a longer one is not a summary."""

# The request of appendix H in our words, and the format of request and reply.
_SYSTEM = (
    "Each numbered line holds the statements about one pair of things. Make one short sentence of each line that still says "
    "all that they say.\n"
    "Reply with a JSON object "
    '{"statements": [{"pair": integer, "statement": string}]}, one entry a line; "pair" is its number.'
)
_SIMPLER_SYSTEM = (
    'Reply with JSON only: {"statements": [{"pair": 0, "statement": "one sentence"}]}. Shorten each numbered line.'
)


def mergeable(edges: Sequence[SimpleEdge]) -> tuple[SimpleEdge, ...]:
    """Return the edges of more than one triple, best first."""
    return tuple(sorted((edge for edge in edges if edge.support > 1), key=lambda edge: (edge.rank, edge.id)))


def request(query: Query, edges: Sequence[SimpleEdge], triples: Sequence[Triple]) -> TeacherRequest:
    """Return the request for the merged statements of `edges`; the reply refers to them by position."""
    by_id = {triple.id: triple for triple in triples}
    lines = []
    for place, edge in enumerate(edges):
        parts = [by_id[id_] for id_ in edge.triple_ids if id_ in by_id]
        sentences = dict.fromkeys(sentence_of(part.subject, part.predicate, part.object) for part in parts)
        lines.append(f"{place}. " + "; ".join(sentences or [edge.statement]))
    user = "\n".join(lines)
    return TeacherRequest(
        source=query,
        stage="statements",
        schema=StatementsReply,
        messages=chat(_SYSTEM, user),
        prompt_version=PROMPT_VERSION,
        simpler=chat(_SIMPLER_SYSTEM, user),
        parameters={"temperature": 0.0},
        count=len(edges),
        texts=tuple(edge.statement for edge in edges),
    )


def read(reply: TeacherReply, edges: Sequence[SimpleEdge]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the statements by edge id, and the reasons for discarded ones."""
    assert isinstance(reply.payload, StatementsReply)
    pairs = ((item.pair, " ".join(item.statement.split())) for item in reply.payload.statements)
    statements, discarded = by_place(pairs, len(edges), "statement of pair")
    discarded += [f"statement of pair {pair}: it is too long" for pair, text in statements.items() if len(text) > LONGEST]
    short = {edges[pair].id: text for pair, text in statements.items() if len(text) <= LONGEST}
    return short, (*reply.payload.discarded, *discarded)
