"""Pages to sign in, ask, look at answers, and check what would leave the machine."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from drag_graph.errors import DragGraphError
from drag_graph.model import Chunk
from drag_graph.ports.model_roles import OnToken
from drag_graph.report.offline_page import MEDIA_TYPES, fragment, web_file
from drag_graph.service.access import COOKIE, Caller, ServiceAccess, requires
from drag_graph.service.answer_stream import EVENT_STREAM, streamed
from drag_graph.service.asking_routes import AskRequest, Id, PrivacyRequest
from drag_graph.service.browser_sessions import LONGEST
from drag_graph.service.errors import RequestRefused
from drag_graph.service.listed_options import listed_options
from drag_graph.service.page_views import answer_view, distill_link, marked, moment, why_view
from drag_graph.service.pages import FOREVER, HEADERS, form_of, listed, render, text_of
from drag_graph.service.service_state import state_of

MODES = (
    {"value": "", "name": "As the service is set"},
    {"value": "combined", "name": "Passages and claims"},
    {"value": "evidence", "name": "Passages only"},
    {"value": "graph", "name": "Claims only"},
    {"value": "none", "name": "Nothing: its own knowledge"},
)
LISTED, LATEST = 100, 20
Body = TypeVar("Body", AskRequest, PrivacyRequest)
router = APIRouter(include_in_schema=False)


PageReader = Annotated[Caller, Depends(requires("reader", is_page=True))]
PageEditor = Annotated[Caller, Depends(requires("editor", is_page=True))]
PageAdmin = Annotated[Caller, Depends(requires("admin", is_page=True))]


@router.get("/static/{name:path}")
async def static_file(name: str, v: str = "") -> Response:
    """Return a file that pages refer to. Needs no key."""
    if name not in MEDIA_TYPES:
        raise RequestRefused(404, "NoSuchFile", "There is no such file.", hint="Load the page again.")
    file = web_file(name)
    headers = {"Cache-Control": FOREVER if v == file.version else "no-cache", "X-Content-Type-Options": "nosniff"}
    return Response(file.content, media_type=file.media_type, headers=headers)


@router.get("/")
async def ask_page(request: Request, caller: PageReader) -> Response:
    """Show the box for questions, and the last answers."""
    return await _ask_page(request, caller, FormData())


@router.post("/ask")
async def ask(request: Request, caller: PageReader) -> Response:
    """Answer the question of the form: as a page, or streamed with the answer's HTML."""
    form = await form_of(request)
    body = _asked(form)
    state = state_of(request)
    values = body.model_dump(exclude={"explain"}, exclude_none=True)
    values["local"] = bool(body.sources or body.tags or body.since or body.until)  # the cloud cannot be asked about these only
    earlier = await run_in_threadpool(_earlier, caller, form)

    def answer(on_token: OnToken | None = None) -> Mapping[str, Any]:
        turns = [turn for one in reversed(earlier) for turn in (("user", one["question"]), ("assistant", one["text"]))]
        values["question"] = caller.graph.follow_up(str(body.question), turns).question
        given = state.ask(caller.graph, **values, on_token=on_token).to_dict()
        settings = caller.graph.settings
        return {
            **answer_view(given, str(body.question)),
            "rewritten": values["question"] if values["question"] != body.question else "",
            "may_add": caller.may("editor"),
            "teacher": settings.teacher,
            "distill": distill_link(values["question"], body.options),
            "is_restricted": values["local"],
            "cloud": settings.cloud,
        }

    if EVENT_STREAM in request.headers.get("accept", ""):
        return streamed(state.asks, lambda on_token: {"html": fragment("answer.html", answer=answer(on_token))})
    return await _ask_page(request, caller, form, await state.asks.run(answer), earlier)


@router.get("/answers")
async def answers_page(request: Request, caller: PageReader) -> Response:
    """List the stored answers, newest first."""
    return render(request, "answers.html", caller=caller, title="Answers", answers=await _answers(caller, LISTED))


@router.get("/answers/{answer_id}")
async def why_page(answer_id: Id, request: Request, caller: PageReader) -> Response:
    """Show where an answer comes from."""
    audit, chunks = await run_in_threadpool(_audited, caller, answer_id)
    answer, why = answer_view(audit, audit["question"]), why_view(audit, chunks)
    return render(request, "why.html", caller=caller, title=audit["question"][:80], answer=answer, why=why)


@router.get("/privacy")
async def privacy_page(request: Request, caller: PageReader) -> Response:
    """Show the box for a question to check."""
    return await _privacy_page(request, caller)


@router.post("/privacy")
async def privacy_check(request: Request, caller: PageReader) -> Response:
    """Show what would leave the machine of a question. Nothing is sent."""
    question = text_of(await form_of(request), "question")
    check = partial(caller.graph.privacy.check, **_valid(PrivacyRequest, questions=[question]).model_dump())
    found = (await run_in_threadpool(check)).to_dict()["queries"]
    checks = [_check_view(one) for one in found]
    return await _privacy_page(request, caller, question, checks)


@router.get("/sign-in")
async def sign_in_page(request: Request) -> Response:
    """Show the form for a key."""
    return render(request, "sign_in.html", title="Sign in", problem="")


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Start a session with a valid key."""
    key = text_of(await form_of(request), "key")
    access: ServiceAccess = request.app.state.access
    if not await run_in_threadpool(access.is_key, key):
        problem = "This key is not valid. It may have expired."
        return render(request, "sign_in.html", status=401, title="Sign in", problem=problem)
    access.sessions.close(request.cookies.get(COOKIE, ""))
    reply = RedirectResponse("/", 303, dict(HEADERS))
    is_secure = request.url.scheme == "https"
    reply.set_cookie(COOKIE, access.sessions.open(key), int(LONGEST), httponly=True, samesite="strict", secure=is_secure)
    return reply


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session."""
    await form_of(request)
    request.app.state.access.sessions.close(request.cookies.get(COOKIE, ""))
    reply = RedirectResponse("/sign-in", 303, dict(HEADERS))
    reply.delete_cookie(COOKIE)
    return reply


async def _ask_page(
    request: Request,
    caller: Caller,
    form: FormData,
    answer: Mapping[str, Any] | None = None,
    earlier: Sequence[Mapping[str, str]] = (),
) -> Response:
    names = ("question", "options", "mode", "sources", "tags", "since", "until")
    asked: dict[str, Any] = {name: text_of(form, name) for name in names}
    if answer and not answer["reason"]:
        asked |= {"question": "", "options": ""}
    asked["is_special"] = any(asked[name] for name in names[1:])
    conversation = [id_ for id_ in (answer and answer["id"], *(one["id"] for one in earlier)) if id_]
    recent = [] if answer else await _answers(caller, 5)
    is_empty = not answer and not recent and not (await run_in_threadpool(lambda: caller.graph.show(limit=1))).total
    values: dict[str, Any] = {
        "asked": asked,
        "modes": MODES,
        "answer": answer,
        "earlier": earlier,
        "conversation": conversation,
    }
    return render(request, "ask.html", caller=caller, title="Ask", recent=recent, is_empty=is_empty, **values)


async def _privacy_page(
    request: Request, caller: Caller, question: str = "", checks: Sequence[Mapping[str, Any]] = ()
) -> Response:
    sent = (await run_in_threadpool(caller.graph.privacy.sent)).to_dict() if caller.may("admin") else None
    values: dict[str, Any] = {"question": question, "checks": checks, "sent": sent}
    return render(request, "privacy.html", caller=caller, title="Privacy", **values)


def _earlier(caller: Caller, form: FormData) -> list[dict[str, str]]:
    """Return the stored answers of the conversation, newest first. What has been erased is left out."""
    found = []
    for id_ in form.getlist("earlier")[:LATEST]:
        with suppress(DragGraphError):
            answer = caller.graph.answer(str(id_)).answer
            found.append({"id": answer.id, "question": answer.question, "text": answer.text, "label": answer.label or ""})
    return found


def _asked(form: FormData) -> AskRequest:
    """Return the request that the form stands for. Options can be in their field, or listed in the question."""
    values: dict[str, Any] = {name: listed(text_of(form, name)) for name in ("sources", "tags")}
    texts = {name: text_of(form, name) for name in ("question", "mode", "since", "until")}
    values["options"] = listed(text_of(form, "options"), "\n")
    if not values["options"]:
        texts["question"], values["options"] = listed_options(texts["question"])
    return _valid(AskRequest, **values, **{name: text for name, text in texts.items() if text})


def _valid(kind: type[Body], **values: Any) -> Body:
    """Return the body that a form stands for. Raises RequestRefused for unusable values."""
    if not values.get("question") and not any(values.get("questions", ())):
        raise RequestRefused(422, "NoQuestion", "The question is empty.", hint="Type a question.")
    try:
        return kind(**values)
    except ValueError:
        hint = "Shorten the question, or look at the fields under How."
        raise RequestRefused(422, "RequestInvalid", "The form has a value that is not usable.", hint=hint) from None


async def _answers(caller: Caller, limit: int) -> list[dict[str, Any]]:
    found = (await run_in_threadpool(partial(caller.graph.answers, limit=limit))).to_dict()
    return [
        {**one, "text": one["text"][:300], "when": moment(one["created_at"]), "confidence": f"{one['confidence']:.2f}"}
        for one in found
    ]


def _audited(caller: Caller, answer_id: str) -> tuple[dict[str, Any], dict[str, Chunk]]:
    """Return an audit, and the chunks of its sources that are stored."""
    audit = caller.graph.answer(answer_id).audit().to_dict()
    chunks: dict[str, Chunk] = {}
    for source_id in dict.fromkeys(line["source_id"] for line in audit["lines"] if "elsewhere" not in line):
        with suppress(DragGraphError):
            chunks |= {chunk.id: chunk for chunk in caller.graph.show(source_id).subgraph.chunks}
    return audit, chunks


def _check_view(checked: Mapping[str, Any]) -> dict[str, Any]:
    findings = [one for one in checked["findings"] if one["field"] == "question"]
    original = checked["original"]
    return {
        "parts": marked(original, [(one["start"], one["end"]) for one in findings]),
        "outgoing": checked["outgoing"] if not checked["refused"] else f"Nothing. {checked['why']}",
        "findings": [{**one, "text": original[one["start"] : one["end"]]} for one in findings],
    }
