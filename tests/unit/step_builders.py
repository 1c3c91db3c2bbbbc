"""Small builders for the tests of the steps."""

from drag_graph.model import Evidence, Query, TeacherCall
from drag_graph.models.teachers.reply_reading import parse_reply
from drag_graph.ports.model_roles import TeacherReply
from drag_graph.ports.teacher_replies import REPLIES

CALL = TeacherCall(
    id="call-1",
    source_id="q",
    stage="evidence",
    model="a-model",
    prompt_version="v",
    request_sha256="0",
    response_sha256="1",
    created_at="2026-01-02T03:04:05+00:00",
)


def query(text="Which gas do plants take in?", options=("oxygen", "carbon dioxide"), **more):
    return Query(id="q", text=text, options=options, **more)


def reply(schema, items):
    kind = REPLIES[schema]
    return TeacherReply(parse_reply(kind, {kind.schema_name: items}), CALL)


def evidence(texts, **more):
    return tuple(
        Evidence(id=f"e{place}", source_id="q", text=text, position=place, rank=place, call_ids=("call-1",), **more)
        for place, text in enumerate(texts)
    )
