"""The templates of all pages, and pages that open offline: one file with its style and scripts inside."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from drag_graph.report.audit_document import counted

_SCRIPT = "text/javascript"
MEDIA_TYPES = {"style.css": "text/css", "page.js": _SCRIPT, "graph.js": _SCRIPT, "vendor/cytoscape.min.js": _SCRIPT}
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f]")
"""Characters that let a text look like another one."""


@dataclass(frozen=True, slots=True)
class WebFile:
    """A file that pages refer to, or include. `digest` is the SHA-256 of its content."""

    content: bytes
    media_type: str
    digest: bytes

    @property
    def version(self) -> str:
        """A short hash of the content."""
        return self.digest.hex()[:16]

    @property
    def csp_hash(self) -> str:
        """The source expression by which a Content-Security-Policy allows the content in a page."""
        return f"'sha256-{b64encode(self.digest).decode()}'"


@cache
def web_file(name: str) -> WebFile:
    """Return a file by its name, which is a key of `MEDIA_TYPES`."""
    content = (files("drag_graph.service") / "web" / name).read_bytes()
    return WebFile(content, MEDIA_TYPES[name], hashlib.sha256(content).digest())


def fragment(template: str, **values: Any) -> str:
    """Return the HTML of a template. Every text is escaped."""
    return _templates().get_template(template).render(**values)


def offline_page(template: str, scripts: Sequence[str] = (), **values: Any) -> str:
    """Return a page of the service as a file that needs no network. `scripts` are names of `MEDIA_TYPES`.

    Only the style and these scripts work in it: its Content-Security-Policy names them by their hashes.
    """
    style, used = web_file("style.css"), [web_file(name) for name in scripts]
    allowed = " ".join(script.csp_hash for script in used) or "'none'"
    offline = {
        "policy": f"default-src 'none'; style-src {style.csp_hash}; script-src {allowed}; img-src data:; base-uri 'none'",
        "style": Markup(style.content.decode()),  # noqa: S704 - our own file
        "scripts": [Markup(script.content.decode()) for script in used],  # noqa: S704 - our own files
    }
    return fragment(template, offline=offline, **values)


@cache
def _templates() -> Environment:
    loader = PackageLoader("drag_graph.service", "web")
    options: Any = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined, "finalize": _visible}
    templates = Environment(loader=loader, autoescape=True, **options)
    templates.globals["counted"] = counted
    templates.globals["asset"] = lambda name: f"/static/{name}?v={web_file(name).version}"
    templates.globals |= dict.fromkeys(("offline", "caller", "may_edit", "may_erase"))
    return templates


def _visible(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        return _REORDERING.sub("\N{REPLACEMENT CHARACTER}", value)
    return value
