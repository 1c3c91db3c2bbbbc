"""Compose the run of `drag-graph ingest`."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from drag_graph.communities.summaries import ModelSummariser, RuleSummariser, Summariser
from drag_graph.compose.model_factories import embedder_is_here, make_pricing, role_name
from drag_graph.compose.session import Session, estimate_basis
from drag_graph.compose.store_opening import open_store
from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill.cost_estimate import Replay
from drag_graph.documents.document_files import SourceFile
from drag_graph.documents.document_reader import DocumentReader, PassagePrivacy
from drag_graph.documents.given_triples import GivenTriples
from drag_graph.graph.paging import pages
from drag_graph.jobs.community_job import CommunityRun
from drag_graph.jobs.ingest_estimate import foresee
from drag_graph.jobs.ingest_job import Ingester, missing_documents
from drag_graph.manage.erasing import compact
from drag_graph.models.model_choice import is_here
from drag_graph.settings import Settings


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


ERASED_AT_ONCE = 50
"""Documents per transaction."""


def make_ingester(
    session: Session,
    source: str,
    *,
    compacts: bool = True,
    given: GivenTriples | None = None,
    tags: Sequence[str] | None = None,
    on_result: Callable[[float], None] = lambda _cost: None,
    interruption: Interruption | None = None,
) -> Ingester:
    """Return a run that ingests documents, in a session opened for the role `extractor`.

    `source` names the paths: runs of one source share their budget. With `compacts`, an embedded store's file is
    rewritten after documents were removed. `given` and `tags` are those of `DocumentReader` and `Ingester`.
    """
    settings = session.settings
    session.claim_embedder()
    interruption, extractor, job = interruption or Interruption(), None, ""
    if model := role_name(settings, "extractor"):
        run = session.start_run("ingest", source, model)
        extractor, job = session.teacher_of(run, interruption, "extractor"), run.job
    gate = session.gate
    privacy = PassagePrivacy(
        gate.types_in if gate is not None and not is_here(settings.model_for("extractor")) else None,
        gate.types_in if gate is not None and not embedder_is_here(settings) else None,
        session.fingerprint,
    )
    return Ingester(
        session.store,
        DocumentReader(settings, session.embedder, extractor, privacy, given=given, check=interruption.check),
        tags=tags,
        workers=settings.workers,
        erase=partial(_erase, session, compacts=compacts),
        interruption=interruption,
        on_result=on_result,
        job=job,
    )


def foreseen(
    settings: Settings, files: Sequence[SourceFile], sync: Sequence[Path], given: GivenTriples | None = None
) -> dict[str, Any]:
    """Return the report of an ingest of these files as a document, without writing anything and without a request."""
    model = role_name(settings, "extractor")
    with estimate_basis(settings, role="extractor") as (basis, caution):
        extractor = Replay(model, basis.fingerprint, basis.tape) if model else None
        look = None if is_here(settings.model_for("extractor")) else lambda _texts: ()
        privacy = PassagePrivacy(look, None, basis.privacy)
        reader = DocumentReader(settings, basis.embedder, extractor, privacy, given=given)
        pricing = make_pricing(settings, "extractor")
        report, cost = foresee(files, settings.namespace, reader, basis, sync, model=model, pricing=pricing)
    report.count_unmatched(given, files)
    if sync and (settings.uses_neo4j or Path(settings.store).expanduser().exists()):
        with open_store(settings, create=False, read_only=True) as store:
            report.count_removed(missing_documents(store, {item.id for item in report.documents}, sync))
    document = report.to_dict()
    return {**document, "totals": {**document["totals"], **cost}, "dry_run": True, **({"caution": caution} if caution else {})}


def _erase(session: Session, ids: Sequence[str], *, compacts: bool) -> None:
    """Erase documents from the ledger, then from the store. After a kill in between, the next run finds them again."""
    if session.settings.ledger_path.exists():
        session.ledger.erase(ids, session.settings.namespace)
    for page in pages(ids, ERASED_AT_ONCE):
        session.store.erase(page)
    compact(session.store, wanted=compacts)
