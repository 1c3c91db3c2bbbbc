"""Compose the run of `drag-graph communities`."""

from drag_graph.communities.summaries import ModelSummariser, RuleSummariser, Summariser
from drag_graph.compose.model_factories import make_teacher
from drag_graph.compose.session import Session
from drag_graph.concurrency.interruption import Interruption
from drag_graph.errors import ConfigurationError
from drag_graph.jobs.community_job import CommunityRun
from drag_graph.ledger import Ledger
from drag_graph.models.model_choice import is_here
from drag_graph.ports.run_journal import start_run
from drag_graph.settings import Settings


def summariser_name(settings: Settings) -> str:
    """Return the name of the model that summarises communities, "" for rules.

    Raises ConfigurationError for a curated file, which has evidence for questions only.
    """
    name = settings.model_for("summariser").name
    if name.startswith("curated:"):
        hint = "Use --summariser rules, or a model."
        raise ConfigurationError(f"The summariser {name!r} does not support communities.", hint=hint)
    return name


def make_communities(session: Session, *, is_dry: bool = False, interruption: Interruption | None = None) -> CommunityRun:
    """Return the run that finds the communities of the namespace, in a session opened for the role `summariser`.

    `is_dry`: only its plan is used, and no ledger is made. Raises StoreUnfit if another embedder filled the store.
    """
    settings, interruption = session.settings, interruption or Interruption()
    if session.store.embedder() is not None:
        session.store.embedder((session.embedder.name, session.embedder.dimension))
    summariser: Summariser = RuleSummariser()
    if model := summariser_name(settings):
        names = {"kind": "communities", "namespace": settings.namespace, "store": session.place, "source": "all"}
        run = start_run(**names, teacher=model, plan="")
        if is_dry:
            with Ledger() as unused:
                teacher = make_teacher(settings, run, interruption, unused, session.outgoing_check, "summariser")
        else:
            teacher = session.teacher_of(run, interruption, "summariser")
        look = session.gate.types_in if session.gate is not None and not is_here(settings.model_for("summariser")) else None
        summariser = ModelSummariser(teacher, settings.namespace, look)
    return CommunityRun(
        session.store,
        session.embedder,
        summariser,
        resolution=settings.community_resolution,
        min_size=settings.community_min_size,
        workers=settings.workers,
        interruption=interruption,
    )
