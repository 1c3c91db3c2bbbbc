"""drag-graph: distilled, audited knowledge graphs for small local models.

The names in `__all__` are the public API. They are loaded on first use, so that importing the package takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from drag_graph.version import __version__

if TYPE_CHECKING:
    from drag_graph.app import AsyncDragGraph, DragGraph, RunHandle
    from drag_graph.app.answer_results import GivenAnswer, GivenAnswers
    from drag_graph.app.answer_tracing import Audit
    from drag_graph.errors import (
        BudgetReached,
        ConfigurationError,
        DragGraphError,
        Interrupted,
        ModelError,
        NotStored,
        ReplyError,
        StoreError,
        Withheld,
    )
    from drag_graph.jobs.runner import RunProgress
    from drag_graph.model import Answer, Document, Evidence, Line, Query, SimpleEdge, Subgraph, TeacherCall, Triple
    from drag_graph.ports.correction_store import Correction
    from drag_graph.settings import Settings

__all__ = [
    "Answer",
    "AsyncDragGraph",
    "Audit",
    "BudgetReached",
    "ConfigurationError",
    "Correction",
    "Document",
    "DragGraph",
    "DragGraphError",
    "Evidence",
    "GivenAnswer",
    "GivenAnswers",
    "Interrupted",
    "Line",
    "ModelError",
    "NotStored",
    "Query",
    "ReplyError",
    "RunHandle",
    "RunProgress",
    "Settings",
    "SimpleEdge",
    "StoreError",
    "Subgraph",
    "TeacherCall",
    "Triple",
    "Withheld",
    "__version__",
]
_MODULES = (
    *("errors", "model", "settings", "ports.correction_store", "jobs.runner"),
    *("app.answer_results", "app.answer_tracing", "app"),
)
"""The modules with the public names. Modules that load slowly come last."""


def __getattr__(name: str) -> Any:
    """Load a public name on first use. Raises AttributeError for any other name."""
    if name in __all__:
        for module in (import_module(f"drag_graph.{place}") for place in _MODULES):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module 'drag_graph' has no attribute {name!r}")
