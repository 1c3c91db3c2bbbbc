"""Make the models of the settings, and the privacy gate for those on other machines."""

import logging
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from drag_graph import log
from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill.cost_estimate import Pricing
from drag_graph.errors import ConfigurationError
from drag_graph.ledger import Ledger
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.locality import Check
from drag_graph.models.model_catalogue import batch_price_of, count_tokens, no_price_error, price_of
from drag_graph.models.model_choice import (
    FILES,
    NEAREST,
    check_name,
    is_here,
    make_embedder,
    plugin_model,
    recorded_name,
    server_of,
)
from drag_graph.ports.model_roles import Teacher
from drag_graph.ports.run_journal import RecordedQuery, Run
from drag_graph.ports.setting_types import Privacy, Role
from drag_graph.settings import Settings

if TYPE_CHECKING:
    from drag_graph.models.teachers.batch_teacher import BatchTeacher
    from drag_graph.models.teachers.served_teacher import ServedTeacher
    from drag_graph.privacy.model_rewriter import Reworder
    from drag_graph.privacy.privacy_gate import PrivacyGate
    from drag_graph.privacy.vault import Vault


def privacy_level(settings: Settings, *, role: Role = "teacher", asks: bool = False) -> Privacy:
    """Return the level of the privacy gate: as set, else `standard` if the model of `role` or the embedder is remote.

    If the student `asks`, it and the reranker count as well. With local models, a store that was filled through the gate keeps
    its last level. Raises UnknownModel for a model name that does not exist, before anything else happens.
    """
    from drag_graph.privacy.vault import vault_level

    used: tuple[Role, ...] = ("student", "reranker", "embedder") if asks else (role, "embedder")
    for each in used:
        check_name(settings.model_for(each))
    if settings.privacy is not None:
        return settings.privacy
    if not all(is_here(settings.model_for(each)) for each in (role, *used)):
        return "standard"
    return vault_level(settings.vault_path)


def embedder_is_here(settings: Settings) -> bool:
    """Return whether the embedder runs on this machine."""
    return is_here(settings.model_for("embedder"))


def student_is_here(settings: Settings) -> bool:
    """Return whether the student runs on this machine; `nearest` depends on the embedder."""
    spec = settings.model_for("student")
    return is_here(spec) and (spec.name != NEAREST or embedder_is_here(settings))


def reranker_is_here(settings: Settings) -> bool:
    """Return whether the reranker runs on this machine, or there is none."""
    return is_here(settings.model_for("reranker"))


def opened_gate(settings: Settings, *, keep: bool = True) -> AbstractContextManager["PrivacyGate | None"]:
    """Lend the privacy gate of `settings.privacy`, None for `off`. Without `keep` the vault is read-only.

    Raises MissingExtra, and ConfigurationError if its detectors do not work.
    """
    from drag_graph.privacy.privacy_gate import open_gate

    level = settings.privacy or "off"
    reworder = make_reworder(settings) if level != "off" else None
    gate = open_gate(level, settings.vault_path, keep=keep, reworder=reworder)
    return closing(gate) if gate else nullcontext()


def make_reworder(settings: Settings) -> "Reworder | None":
    """Return the model that rephrases generalised questions, None if none is set.

    Raises ConfigurationError if it does not run on this machine.
    """
    from drag_graph.privacy.model_rewriter import Reworder

    spec = settings.model_for("rewriter")
    if not spec.name:
        return None
    check_name(spec)
    if not is_here(spec):
        hint = "Use gguf:FILE, ollama/NAME, or a server on this machine with `rewriter_base_url=http://127.0.0.1:8080/v1`."
        message = f"The rewriter {spec.name!r} is not on this machine, so it must not receive private questions."
        raise ConfigurationError(message, hint=hint)
    embedder = make_embedder(settings) if embedder_is_here(settings) else LexicalEmbedder()
    return Reworder(recorded_name(spec), lambda: server_of(spec), embedder)


def asked_as(settings: Settings, input_id: str) -> frozenset[str]:
    """Return the ids of the queries that the gate made from input lines with this id. Only the local vault knows them."""
    if not settings.vault_path.exists():
        return frozenset()
    with opened_vault(settings) as vault:
        return vault.ids(settings.namespace, input_id.strip())


def known_queries(settings: Settings, input_id: str) -> list[RecordedQuery]:
    """Return the queries in the ledger or the vault, for erasing. The vault also knows those that `input_id` means."""
    known: dict[str, RecordedQuery] = {}
    if settings.ledger_path.exists():
        with Ledger(settings.ledger_path, read_only=True) as ledger:
            known = {query.id: query for query in ledger.queries(settings.namespace)}
    if settings.vault_path.exists():
        with opened_vault(settings) as vault:
            for id_ in vault.ids(settings.namespace):
                known.setdefault(id_, RecordedQuery(id_, frozenset(), "", frozenset(), "", is_complete=False))
            for id_ in vault.ids(settings.namespace, input_id) if input_id else ():
                known[id_] = replace(known[id_], input_ids=known[id_].input_ids | {input_id})
    return list(known.values())


def opened_vault(settings: Settings) -> "closing[Vault]":
    """Lend the vault, without creating it. Raises MissingExtra, and StoreUnfit without its key."""
    from drag_graph.privacy.vault import Vault

    return closing(Vault(settings.vault_path))


def check_teacher(settings: Settings) -> None:
    """Raise ConfigurationError if no teacher is set, so that no paid model is used by accident."""
    if not settings.teacher:
        raise ConfigurationError(
            "No teacher is set.",
            hint="Use `teacher=gpt-4o-mini` (paid; any model that LiteLLM knows), `teacher=ollama/llama3.2` (your own), or "
            "`teacher=curated:FILE` (evidence written by people). DRAG_GRAPH_TEACHER or drag-graph.toml set it permanently.",
        )


def make_teacher(  # noqa: PLR0917 - a session passes what a run has
    settings: Settings,
    run: Run,
    interruption: Interruption,
    ledger: Ledger,
    privacy: Check | None = None,
    role: Role = "teacher",
) -> Teacher:
    """Return the model of a role that replies to requests: a file, or a model behind the tape and the run's budget.

    `privacy` checks what leaves this machine; without one, nothing may.
    """
    spec = settings.model_for(role)
    if role == "teacher":
        check_teacher(settings)
    if spec.name.startswith(FILES):
        return file_teacher(spec.name)
    check_name(spec)
    from drag_graph.ledger.budget import Budget
    from drag_graph.models.chat_client import require_key
    from drag_graph.models.teachers.recorded_teacher import RecordedTeacher
    from drag_graph.models.teachers.served_teacher import ServedTeacher

    budget = Budget(settings.budget_usd, ledger.account(run.job))
    if teacher := plugin_model(spec, settings, privacy):
        highest_usd = getattr(teacher, "highest_cost_usd", 0.0 if is_here(spec) else None)
        return RecordedTeacher(teacher, ledger.tape, budget, highest_usd)
    if price_of(spec.name, 0, 0) is None:
        if settings.budget_usd is not None:
            raise no_price_error(spec.name)
        log.event("the model has no known price; its calls count as free", level=logging.INFO, model=spec.name)
    server, name = replace(server_of(spec, privacy), sleep=interruption.sleep), recorded_name(spec)
    if role == "teacher" and name not in ledger.tape.models:  # recorded replies need no key
        require_key(server)
    return ServedTeacher(
        server, name=name, tape=ledger.tape, budget=budget, max_tokens=settings.teacher_max_tokens, check=interruption.check
    )


def role_name(settings: Settings, role: Literal["summariser", "extractor"]) -> str:
    """Return the name of the model that summarises communities or extracts triples from documents, "" for rules.

    Raises ConfigurationError for a curated file, which has evidence for questions only.
    """
    name = settings.model_for(role).name
    if name.startswith("curated:"):
        subject, rules = ("communities", "rules") if role == "summariser" else ("documents", "patterns")
        hint = f"Use `{role}={rules}`, gguf:FILE, or a model."
        raise ConfigurationError(f"The {role} {name!r} does not support {subject}.", hint=hint)
    return name


def file_teacher(name: str) -> Teacher:
    """Return the teacher in a file: curated:FILE or tape:FILE."""
    kind, _, place = name.partition(":")
    if kind == "curated":
        from drag_graph.models.teachers.curated_teacher import CuratedTeacher

        return CuratedTeacher(Path(place).expanduser())
    from drag_graph.ledger.tape import TapeTeacher

    return TapeTeacher(Path(place).expanduser())


def check_batches(settings: Settings) -> None:
    """Raise ConfigurationError if the teacher's provider has no batch API. Makes no call."""
    check_teacher(settings)
    if settings.teacher.startswith(FILES):
        raise ConfigurationError("A file as the teacher has no batch API.", hint="Leave out `batch=True`, or use a model.")
    from drag_graph.models.teachers.provider_batch_api import check_support

    check_support(settings.teacher, settings.teacher_base_url)


def make_batch_teacher(
    settings: Settings, run: Run, interruption: Interruption, ledger: Ledger, privacy: Check | None = None
) -> "BatchTeacher":
    """Return the teacher, asked in batches of the run's job. Raises ConfigurationError and StoreLocked."""
    check_batches(settings)
    from drag_graph.models.teachers.batch_teacher import BatchTeacher
    from drag_graph.models.teachers.provider_batch_api import BatchApi

    inner = cast("ServedTeacher", make_teacher(settings, run, interruption, ledger, privacy))
    api = BatchApi(server_of(settings.model_for("teacher"), privacy))
    records = ledger.batches(run.job, settings.teacher)
    return BatchTeacher(inner, api, records, run_id=run.id, limit_usd=settings.budget_usd)


def make_pricing(settings: Settings, role: Role = "teacher", *, batch: bool = False) -> Pricing | None:
    """Return how the tokens of a role's model are counted and paid (in a `batch`), or None for a file or rules."""
    name = settings.model_for(role).name
    if name.startswith(FILES) or (role != "teacher" and not name):
        return None
    return Pricing(count_tokens, batch_price_of if batch else price_of)
