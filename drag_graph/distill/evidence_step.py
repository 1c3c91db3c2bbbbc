"""Evidence: what is asked of the teacher, and what becomes of its reply (the paper's step 1 and appendix F).

`lean` asks once for statements spread over the five framings. `paper` uses the published prompt. If repetitions leave too few
statements, it asks once more for the missing number and shows the existing ones.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from drag_graph.distill.teacher_messages import Plan, chat, numbered, question
from drag_graph.graph.answer_leaks import leaks
from drag_graph.graph.contradictions import statements_differ
from drag_graph.graph.name_forms import tokens
from drag_graph.identity import canonical_text, content_id
from drag_graph.model import FRAMINGS, Evidence, Query
from drag_graph.ports.model_roles import TeacherReply, TeacherRequest
from drag_graph.ports.teacher_replies import EvidenceReply
from drag_graph.ports.vectors import Vectors

PROMPT_VERSIONS: dict[Plan, str] = {"lean": "evidence-lean/2", "paper": "evidence-paper/1"}
TEMPERATURE = 0.7
NEAR_COSINE = 0.95
"""Minimum cosine for two statements to be the same, unless a guard sees a difference (numbers, negation, opposites)."""
LONGEST = 4_000
"""Maximum length of a statement in characters; longer ones are cut after a word."""

Embed = Callable[[Sequence[str]], Vectors]

# Of the prompts that were tried, this one yields the most distinct facts from a small model (docs/measurements/students.md).
_LEAN_SYSTEM = (
    "You write down general knowledge in short, complete sentences, each true by itself, without saying which answer is right. "
    'Reply in JSON: {"evidence": [{"text": string, "framing": string}]}.'
)
_LEAN_USER = (
    "{question}\n\nWrite {number} different facts that one needs to know to answer this question, spread over the framings "
    "{framings}."
)
# The request of the paper's appendix F in our words, and the format of the reply.
_PAPER_SYSTEM = (
    "Your task is to write factual statements that serve as evidence for solving a question. Write the statements only, "
    "without any remarks around them, and never give the answer itself away.\n"
    'Reply with a JSON object {{"evidence": [{{"text": string, "framing": string}}]}} with one entry for each evidence '
    'statement; "framing" is one of {framings}.'
)
_PAPER_USER = "Write {number} evidence statements that help to answer this question: {question}"
_PAPER_MORE = "\n\nThese evidences are there already; generate {number} that say something else:\n{have}"
_SIMPLER_SYSTEM = 'Reply with JSON only: {"evidence": ["first fact", "second fact"]}.'
_SIMPLER_USER = "Write {number} short facts about the subject of this question. Do not answer it.\n{question}"


def request(
    query: Query,
    *,
    number: int,
    plan: Plan = "lean",
    blind: bool = False,
    earlier: Sequence[Evidence] = (),
    temperature: float | None = None,
) -> TeacherRequest:
    """Return the request for `number` statements that do not repeat `earlier`."""
    shown_question = question(query, blind=blind)
    framings = ", ".join(FRAMINGS)
    if plan == "lean":
        messages = chat(_LEAN_SYSTEM, _LEAN_USER.format(number=number, framings=framings, question=shown_question))
    else:
        user = _PAPER_USER.format(number=number, question=shown_question)
        if earlier:
            user += _PAPER_MORE.format(number=number, have=numbered([item.text for item in earlier]))
        messages = chat(_PAPER_SYSTEM.format(framings=framings), user)
    return TeacherRequest(
        source=query,
        stage="evidence",
        schema=EvidenceReply,
        messages=messages,
        prompt_version=PROMPT_VERSIONS[plan],
        simpler=chat(_SIMPLER_SYSTEM, _SIMPLER_USER.format(number=number, question=shown_question)),
        parameters={"temperature": TEMPERATURE if temperature is None else temperature},
        count=number,
    )


def read(
    reply: TeacherReply,
    query: Query,
    *,
    embed: Embed,
    number: int | None = None,
    earlier: Sequence[Evidence] = (),
    drop_leaks: bool = False,
) -> tuple[Evidence, ...]:
    """Return `earlier` and the statements of the reply, in order of position. Dropped statements have a reason.

    `embed` finds repetitions, in one call for all texts. Distinct statements beyond `number` are dropped; None keeps them all.
    """
    assert isinstance(reply.payload, EvidenceReply)
    times = Counter(item.text for item in earlier)
    evidence = list(earlier)
    for item in reply.payload.evidence:
        text = shortened(item.text)
        # An exact repetition gets its own id, so that dropped evidence can be listed.
        parts = (text, "repeat", str(times[text])) if times[text] else (text,)
        times[text] += 1
        evidence.append(
            Evidence(
                id=content_id(query.namespace, "evidence", query.id, *parts),
                source_id=query.id,
                text=text,
                framing=item.framing,
                position=len(evidence),
                reason="seems to give the answer away" if drop_leaks and leaks(text, query) else "",
                call_ids=(reply.call.id,),
                created_at=reply.call.created_at,
            )
        )
    return mark_repeats(evidence, embed([item.text for item in evidence]), number) if evidence else ()


def missing(evidence: Sequence[Evidence], number: int, plan: Plan) -> int:
    """Return how many statements the paper plan requests again, to reach `number`. The lean plan requests none."""
    return max(0, number - sum(item.kept for item in evidence)) if plan == "paper" else 0


def mark_repeats(evidence: Sequence[Evidence], vectors: Vectors, number: int | None = None) -> tuple[Evidence, ...]:
    """Drop repetitions, and distinct statements beyond `number`; the reason names the position of the repeated evidence.

    Two statements are the same if their normalised texts are equal, or if their `vectors` (unit rows) are near (`NEAR_COSINE`)
    and they do not differ in a number, a negation or an opposite.
    """
    canonical = [" ".join(tokens(canonical_text(item.text))) or canonical_text(item.text) for item in evidence]
    cosines = vectors @ vectors.T
    distinct: list[int] = []
    marked: list[Evidence] = []
    for place, item in enumerate(evidence):
        reason = item.reason
        for earlier in distinct if not reason else ():
            other = evidence[earlier]
            if canonical[earlier] == canonical[place]:
                reason = f"says the same as evidence {other.position}"
            elif cosines[earlier, place] >= NEAR_COSINE and not statements_differ(other.text, item.text):
                reason = f"nearly repeats evidence {other.position} (cosine {cosines[earlier, place]:.2f})"
            if reason:
                break
        if not reason and len(distinct) == number:
            reason = f"more than the {number} asked for"
        if not reason:
            distinct.append(place)
        marked.append(item.model_copy(update={"kept": False, "reason": reason}) if reason else item)
    return tuple(marked)


def shortened(text: str) -> str:
    """Return a statement of at most `LONGEST` characters, cut after a word with an ellipsis."""
    text = text.strip()
    if len(text) <= LONGEST:
        return text
    cut = text[: LONGEST - 2]
    return (cut[: cut.rfind(" ")] if " " in cut[LONGEST // 2 :] else cut).rstrip() + " \u2026"
