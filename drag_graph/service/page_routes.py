"""Pages to sign in, ask, read answers and check what would leave the machine, and the functions that all pages share."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from drag_graph.app.answering import AnswerState
from drag_graph.errors import DragGraphError
from drag_graph.ports.model_roles import OnToken
from drag_graph.report.audit_views import answer_view, correction_view, distill_link, moment, why_view
from drag_graph.report.offline_page import MEDIA_TYPES, fragment, web_file
from drag_graph.report.privacy_views import check_view
from drag_graph.service.access import COOKIE, LONGEST_SESSION, Caller, ServiceAccess, requires
from drag_graph.service.answer_stream import EVENT_STREAM, streamed
from drag_graph.service.asking_routes import AskRequest, CorrectionRequest, Id, PrivacyRequest, ShortText, corrected
from drag_graph.service.errors import RequestRefused, body_of, log_unexpected, status_of
from drag_graph.service.listed_options import listed_options
from drag_graph.service.service_state import state_of

FOREVER = "public, max-age=31536000, immutable"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PLACES = (
    {"name": "Ask", "href": "/"},
    {"name": "Answers", "href": "/answers"},
    {"name": "Knowledge", "href": "/sources"},
    {"name": "Graph", "href": "/graph"},
    {"name": "Jobs", "href": "/jobs"},
    {"name": "Privacy", "href": "/privacy"},
)


def render(request: Request, template: str, *, caller: Caller | None = None, status: int = 200, **values: Any) -> Response:
    """Return a page. `caller` is None where nobody is signed in."""
    access: ServiceAccess = request.app.state.access
    cookie = request.cookies.get(COOKIE, "")
    shared = {
        "caller": caller,
        "may_edit": caller is not None and caller.may("editor"),
        "may_erase": caller is not None and caller.may("admin"),
        "is_signed_in": bool(access.sessions.secret_of(cookie)),
        "here": request.url.path,
        "places": PLACES,
        "token": access.sessions.form_token(cookie),
    }
    return HTMLResponse(fragment(template, **shared, **values), status, dict(HEADERS))


def error_page(request: Request, error: Exception) -> Response:
    """Return the page for an error: the one to sign in if a key is missing."""
    log_unexpected(error)
    detail = body_of(error)["error"]
    status = status_of(error) if detail["type"] != "RequestInvalid" else 422
    if status == HTTPStatus.UNAUTHORIZED:
        page = render(request, "sign_in.html", status=status, title="Sign in", problem="")
    else:
        values = {"title": "Error", "message": detail["message"], "hint": detail["hint"]}
        page = render(request, "error.html", caller=getattr(request.state, "caller", None), status=status, **values)
    page.headers.update(getattr(error, "headers", None) or {})
    return page


async def form_of(request: Request, **limits: Any) -> FormData:
    """Return the form of a request. Raises RequestRefused if a page of another site may have sent it."""
    access: ServiceAccess = request.app.state.access
    form = await request.form(**limits)
    if not access.has_form_token(request, text_of(form, "token")):
        hint = "Load the page again, and send the form once more."
        raise RequestRefused(403, "FormRefused", "The form is too old, or comes from another page.", hint=hint)
    return form


def text_of(form: FormData, name: str) -> str:
    """Return a field of a form, with line feeds as ends of lines; empty if it is missing."""
    value = form.get(name, "")
    return value.replace("\r\n", "\n").strip() if isinstance(value, str) else ""


def listed(text: str, separator: str = ",") -> list[str]:
    """Return the parts of a text that are not blank."""
    return [part.strip() for part in text.split(separator) if part.strip()]


LISTED, LATEST = 100, 20
Body = TypeVar("Body", bound=BaseModel)
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
async def answers_page(
    request: Request, caller: PageReader, text: ShortText = "", source: ShortText = "", state: AnswerState | Literal[""] = ""
) -> Response:
    """List the stored answers, newest first: all, or those that the form asks for."""
    found = await _answers(caller, LISTED, query_id=source.strip() or None, text=text.strip(), state=state or None)
    corrections = {one.target_id: one.to_dict() for one in await run_in_threadpool(caller.graph.corrections)}
    answers = [{**one, "correction": correction_view(corrections.get(one["id"]))} for one in found]
    values: dict[str, Any] = {"answers": answers, "asked": {"text": text, "source": source, "state": state}}
    return render(request, "answers.html", caller=caller, title="Answers", **values)


@router.get("/answers/{answer_id}")
async def why_page(answer_id: Id, request: Request, caller: PageReader) -> Response:
    """Show where an answer comes from."""
    audit = (await run_in_threadpool(lambda: caller.graph.answer(answer_id).audit())).to_dict()
    return render(request, "why.html", caller=caller, title=audit["question"][:80], why=why_view(audit))


@router.post("/{place}/{id_}/correct")
async def correct(place: Literal["answers", "sources"], id_: Id, request: Request, caller: PageEditor) -> Response:
    """Mark an answer, or claims on its page or on that of a source, as right or wrong."""
    form = await form_of(request)
    verdict = text_of(form, "verdict")
    values = {"verdict": None if verdict == "undo" else verdict, "note": text_of(form, "note")}
    for body in [_valid(CorrectionRequest, id=target, **values) for target in form.getlist("id") or [""]]:
        await run_in_threadpool(corrected, caller, body)
    line = text_of(form, "line")
    return RedirectResponse(f"/{place}/{id_}#{f'line-{line}' if line.isdecimal() else ''}", 303, dict(HEADERS))


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
    checks = [check_view(one) for one in found]
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
    session, is_secure = access.sessions.open(key), request.url.scheme == "https"
    reply.set_cookie(COOKIE, session, int(LONGEST_SESSION), httponly=True, samesite="strict", secure=is_secure)
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
    values: dict[str, Any] = {"asked": asked, "answer": answer, "earlier": earlier, "conversation": conversation}
    return render(request, "ask.html", caller=caller, title="Ask", recent=recent, is_empty=is_empty, **values)


async def _privacy_page(
    request: Request, caller: Caller, question: str = "", checks: Sequence[Mapping[str, Any]] = ()
) -> Response:
    sent = (await run_in_threadpool(caller.graph.privacy.sent)).to_dict() if caller.sees_all else None
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
    values["options"] = listed(text_of(form, "options"), "\n")
    question = text_of(form, "question")
    if not values["options"]:
        question, values["options"] = listed_options(question)
    texts = {name: text_of(form, name) for name in ("mode", "since", "until")}
    values |= {name: text for name, text in texts.items() if text}
    return _valid(AskRequest, question=question, **values)


def _valid(kind: type[Body], **values: Any) -> Body:
    """Return the body that a form stands for. Raises RequestRefused for unusable values."""
    try:
        return kind(**values)
    except ValueError:
        hint = "Fill in what is empty, and shorten what is too long."
        raise RequestRefused(422, "RequestInvalid", "The form has a value that is not usable.", hint=hint) from None


async def _answers(caller: Caller, limit: int, **filters: Any) -> list[dict[str, Any]]:
    found = (await run_in_threadpool(partial(caller.graph.answers, limit=limit, **filters))).to_dict()
    return [
        {**one, "text": one["text"][:300], "when": moment(one["created_at"]), "confidence": f"{one['confidence']:.2f}"}
        for one in found
    ]
