"""Compose the run that reads documents from a session."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from drag_graph.compose.model_factories import embedder_is_here, make_pricing, teacher_is_here
from drag_graph.compose.session import Session, known_to_estimate, open_store
from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill.cost_estimate import Replay
from drag_graph.distill.spacy_extractor import PhraseReader
from drag_graph.documents.document_files import SourceFile
from drag_graph.documents.document_reader import DocumentReader, PassagePrivacy
from drag_graph.errors import ConfigurationError
from drag_graph.graph.paging import pages
from drag_graph.jobs.ingest_estimate import foresee
from drag_graph.jobs.ingest_job import Ingester, missing_documents
from drag_graph.manage.erasing import compact
from drag_graph.models.spacy_model import load_english_model
from drag_graph.ports.model_roles import Teacher
from drag_graph.ports.run_journal import start_run
from drag_graph.settings import Settings

ERASED_AT_ONCE = 50
"""Number of documents erased in one transaction."""
SPACY = "spacy"
BY_RULES = ("patterns", SPACY)
"""Extractors that call no model."""


def for_documents(settings: Settings) -> Settings:
    """Return settings with the model that extracts triples as teacher; the teacher is "" if rules extract them.

    Raises ConfigurationError for a curated file, which contains evidence for questions only.
    """
    extractor = settings.document_extractor.strip()
    if extractor.startswith("curated:"):
        hint = "Use --extractor patterns, gguf:FILE, or a model."
        raise ConfigurationError(f"The extractor {extractor!r} does not support documents.", hint=hint)
    return settings.model_copy(update={"teacher": "" if extractor in BY_RULES else extractor})


def make_ingester(
    session: Session,
    source: str,
    *,
    compacts: bool = True,
    on_result: Callable[[float], None] = lambda _cost: None,
    interruption: Interruption | None = None,
) -> Ingester:
    """Return a run over documents, in a session with the settings of `for_documents`.

    `source` names the paths; runs with the same source share a budget. With `compacts`, an embedded store's file is compacted
    after documents were removed.
    """
    settings = session.settings
    names = {"kind": "ingest", "namespace": settings.namespace, "store": session.place, "source": source}
    session.store.embedder((session.embedder.name, session.embedder.dimension))
    interruption, extractor = interruption or Interruption(), None
    if settings.teacher:
        extractor = session.asked_by(start_run(**names, teacher=settings.teacher, plan=""), interruption)
    return Ingester(
        session.store,
        make_reader(session, extractor),
        workers=settings.workers,
        erase=partial(_erase, session, compacts=compacts),
        interruption=interruption,
        on_result=on_result,
    )


def make_reader(session: Session, extractor: Teacher | None) -> DocumentReader:
    """Return the document reader of a session."""
    settings, gate = session.settings, session.gate
    privacy = PassagePrivacy(
        gate.types_in if gate is not None and not teacher_is_here(settings) else None,
        gate.types_in if gate is not None and not embedder_is_here(settings) else None,
        session.fingerprint,
    )
    return DocumentReader(settings, session.embedder, extractor, privacy, phrases_of(settings))


def phrases_of(settings: Settings) -> PhraseReader | None:
    """Return the parser that finds triples in addition to the rules, or None. Raises MissingExtra."""
    return PhraseReader(*load_english_model()) if settings.document_extractor.strip() == SPACY else None


def foreseen(settings: Settings, files: Sequence[SourceFile], sync: Sequence[Path]) -> dict[str, Any]:
    """Return the `ingest --dry-run` document of these files. Nothing is written, and no model is called."""
    model = settings.teacher
    with known_to_estimate(settings) as (known, caution):
        extractor = Replay(model, known.fingerprint, known.tape) if model else None
        look = None if teacher_is_here(settings) else lambda _texts: ()
        reader = DocumentReader(
            settings, known.embedder, extractor, PassagePrivacy(look, None, known.privacy), phrases_of(settings)
        )
        pricing = make_pricing(settings) if model else None
        report, cost = foresee(files, settings.namespace, reader, known, model=model, pricing=pricing)
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
