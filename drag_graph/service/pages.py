"""Pages for browsers: security headers, forms and errors."""

from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from starlette.datastructures import FormData

from drag_graph.report.offline_page import fragment
from drag_graph.service.access import COOKIE, Caller, ServiceAccess
from drag_graph.service.errors import RequestRefused, body_of, log_unexpected, status_of

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
