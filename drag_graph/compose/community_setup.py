"""A session to the run that finds communities: the composition of `drag-graph communities`."""

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
    """Return the settings that communities are summarised under: the summariser is the teacher; none is where the rules are it.

    Raises ConfigurationError for a file of people's evidence, which has no summaries.
    """
    chosen = settings.summariser.strip()
    if chosen.startswith("curated:"):
        raise ConfigurationError("a curated file has no summaries", hint="Give --summariser rules, or a model.")
    reached = {f"teacher_{name}": getattr(settings, f"summariser_{name}") for name in ("base_url", "api_key")}
    return settings.model_copy(update={"teacher": "" if chosen == RULES else chosen, **reached})


def make_communities(session: Session, *, is_dry: bool = False, interruption: Interruption | None = None) -> CommunityRun:
    """Return the run that finds the communities of the namespace in a session of `for_communities`.

    One that `is_dry` is there for its plan: no ledger is made for it. Raises StoreUnfit when another embedder filled the store.
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
