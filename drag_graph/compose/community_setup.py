"""Compose the run of `drag-graph communities`."""

from drag_graph.communities.summaries import ModelSummariser, RuleSummariser, Summariser
from drag_graph.compose.model_factories import role_name
from drag_graph.compose.session import Session
from drag_graph.concurrency.interruption import Interruption
from drag_graph.jobs.community_job import CommunityRun
from drag_graph.models.model_choice import is_here


def make_communities(session: Session, *, interruption: Interruption | None = None) -> CommunityRun:
    """Return the run that finds the communities of the namespace, in a session opened for the role `summariser`.

    Raises StoreUnfit if another embedder filled the store.
    """
    settings, interruption = session.settings, interruption or Interruption()
    session.check_embedder()
    summariser: Summariser = RuleSummariser()
    if model := role_name(settings, "summariser"):
        run = session.start_run("communities", "all", model)
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
