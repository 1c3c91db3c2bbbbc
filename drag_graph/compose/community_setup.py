"""Compose the run that finds communities from a session."""

from drag_graph.communities.summaries import RULES, ModelSummariser, RuleSummariser, Summariser
from drag_graph.compose.model_factories import make_teacher, teacher_is_here
from drag_graph.compose.session import Session
from drag_graph.concurrency.interruption import Interruption
from drag_graph.errors import ConfigurationError
from drag_graph.jobs.community_job import CommunityRun
from drag_graph.ledger import Ledger
from drag_graph.ports.run_journal import start_run
from drag_graph.settings import Settings


def for_communities(settings: Settings) -> Settings:
    """Return settings with the summariser as teacher; the teacher is "" if rules write the summaries.

    Raises ConfigurationError for a curated file, which contains no summaries.
    """
    chosen = settings.summariser.strip()
    if chosen.startswith("curated:"):
        raise ConfigurationError("A curated file contains no summaries.", hint="Use --summariser rules, or a model.")
    reached = {f"teacher_{name}": getattr(settings, f"summariser_{name}") for name in ("base_url", "api_key")}
    return settings.model_copy(update={"teacher": "" if chosen == RULES else chosen, **reached})


def make_communities(session: Session, *, is_dry: bool = False, interruption: Interruption | None = None) -> CommunityRun:
    """Return a run over the communities of the namespace, in a session with the settings of `for_communities`.

    With `is_dry` only its plan is used, and no ledger is created. Raises StoreUnfit if another embedder filled the store.
    """
    settings, interruption = session.settings, interruption or Interruption()
    if session.store.embedder() is not None:
        session.store.embedder((session.embedder.name, session.embedder.dimension))
    summariser: Summariser = RuleSummariser()
    if settings.teacher:
        names = {"kind": "communities", "namespace": settings.namespace, "store": session.place, "source": "all"}
        run = start_run(**names, teacher=settings.teacher, plan="")
        if is_dry:
            with Ledger() as nothing:
                teacher = make_teacher(settings, run, interruption, nothing, session.way_out)
        else:
            teacher = session.asked_by(run, interruption)
        look = session.gate.types_in if session.gate is not None and not teacher_is_here(settings) else None
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
