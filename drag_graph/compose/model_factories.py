"""Settings to models, and to the privacy gate that stands before those that are not on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill.cost_estimate import Pricing
from drag_graph.errors import ConfigurationError
from drag_graph.ledger import Ledger
from drag_graph.models.locality import Check, unchecked
from drag_graph.ports.model_roles import Embedder, Student, Teacher
from drag_graph.ports.run_journal import RecordedQuery, Run
from drag_graph.settings import Privacy, Settings

if TYPE_CHECKING:
    from drag_graph.models.teachers.batch_teacher import BatchTeacher
    from drag_graph.models.teachers.served_teacher import LiteLLMTeacher
    from drag_graph.privacy.model_rewriter import Reworder
    from drag_graph.privacy.privacy_gate import PrivacyGate
    from drag_graph.privacy.vault import Vault

FILES = ("curated:", "tape:")


def make_embedder(settings: Settings, privacy: Check | None = None) -> Embedder:
    """Return the embedder that the settings name; its weights are loaded when it is first used.

    `privacy` looks at what leaves this machine; without one, nothing does.
    """
    from drag_graph.models import embedders

    return embedders.make_embedder(settings, privacy)


def gated_embedder(settings: Settings) -> Embedder:
    """Return the embedder with the privacy gate before it, for texts that are stored: nothing of them goes to the vault."""
    from drag_graph.privacy.gate_opening import open_gate

    gate = open_gate(privacy_level(settings))
    return make_embedder(settings, gate.outgoing if gate else unchecked)


def make_student(settings: Settings, embedder: Embedder, privacy: Check | None = None) -> Student:
    """Return the student that the settings name. `privacy` as for `make_embedder`."""
    from drag_graph.models import students

    return students.make_student(settings, embedder, privacy)


def privacy_level(settings: Settings, *, asks: bool = False) -> Privacy:
    """Return what questions are rewritten to: as set, else `standard` where the teacher or embedder is not on this machine.

    Where the student `asks`, it counts, too. A store that was filled through the gate goes on as it was filled last.
    """
    from drag_graph.models import embedders, students
    from drag_graph.privacy.vault import vault_level

    if settings.privacy is not None:
        return settings.privacy
    if not (teacher_is_here(settings) and embedders.is_here(settings) and (not asks or students.is_here(settings))):
        return "standard"
    return vault_level(settings.vault_path)


def teacher_is_here(settings: Settings) -> bool:
    """Whether nothing leaves this machine of what the teacher is asked, if there is one."""
    from drag_graph.models.chat_client import GGUF
    from drag_graph.models.locality import is_local

    teacher = settings.teacher
    return not teacher or teacher.startswith((*FILES, GGUF)) or is_local(teacher, settings.teacher_base_url)


def embedder_is_here(settings: Settings) -> bool:
    """Whether nothing leaves this machine of what the embedder is given."""
    from drag_graph.models import embedders

    return embedders.is_here(settings)


def student_is_here(settings: Settings) -> bool:
    """Whether nothing leaves this machine of what the student is asked; `nearest` asks the embedder."""
    from drag_graph.models import embedders, students

    return students.is_here(settings) and (settings.student.strip() != students.NEAREST or embedders.is_here(settings))


@contextmanager
def opened_gate(settings: Settings, *, keep: bool = True) -> Iterator["PrivacyGate | None"]:
    """Lend the privacy gate of `settings.privacy`, None for `off`; with `keep` false the vault is only read.

    Raises MissingExtra, and ConfigurationError where its detectors do not work.
    """
    from drag_graph.privacy.gate_opening import open_gate

    level = settings.privacy or "off"
    reworder = make_reworder(settings) if level != "off" else None
    gate = open_gate(level, settings.vault_path, keep=keep, reworder=reworder)
    try:
        yield gate
    finally:
        if gate is not None:
            gate.close()


def make_reworder(settings: Settings) -> "Reworder | None":
    """Return the model that words generalised questions anew, None where none is set.

    Raises ConfigurationError where it is not on this machine.
    """
    from drag_graph.models import embedders
    from drag_graph.models.chat_client import GGUF, Server
    from drag_graph.models.locality import is_local
    from drag_graph.privacy.model_rewriter import Reworder

    name = settings.rewriter.strip()
    if not name:
        return None
    embedder = embedders.make_embedder(settings) if embedders.is_here(settings) else embedders.LexicalEmbedder()
    if name.startswith(GGUF):
        from drag_graph.models.gguf_runtime import chat_server, recorded_name

        file = name.removeprefix(GGUF)
        return Reworder(recorded_name(file), lambda: chat_server(file, settings.teacher_timeout), embedder)
    if not is_local(name, settings.rewriter_base_url):
        hint = "Give gguf:FILE, ollama/NAME, or --rewriter-base-url with an address of this machine, such as http://127.0.0.1:8080/v1."
        raise ConfigurationError(
            f"the rewriter {name!r} is not on this machine: it would be sent what must not leave", hint=hint
        )
    server = Server(name, settings.rewriter_base_url, timeout=settings.teacher_timeout)
    return Reworder(name, lambda: server, embedder)


def asked_as(settings: Settings, input_id: str) -> frozenset[str]:
    """Return the ids of the queries that lines of that name became in the gate: this machine's vault alone knows them."""
    if not settings.vault_path.exists():
        return frozenset()
    with opened_vault(settings) as vault:
        return vault.ids(settings.namespace, input_id.strip())


def known_queries(settings: Settings, input_id: str) -> list[RecordedQuery]:
    """Return the queries that ledger or vault know, to be erased; the vault also knows which are meant by `input_id`."""
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


@contextmanager
def opened_vault(settings: Settings) -> Iterator["Vault"]:
    """Lend the vault; one that is not there is empty and stays away. Raises MissingExtra, and StoreUnfit without its key."""
    from drag_graph.privacy.vault import Vault

    vault = Vault(settings.vault_path, create=False)
    try:
        yield vault
    finally:
        vault.close()


def check_teacher(settings: Settings) -> None:
    """Raise ConfigurationError where no teacher is chosen: a question must not go to a paid model unasked."""
    if not settings.teacher:
        raise ConfigurationError(
            "no teacher is chosen",
            hint="--teacher gpt-4o-mini asks a paid model (any that LiteLLM knows), --teacher ollama/llama3.2 one of your own, "
            "--teacher curated:FILE reads evidence that people wrote. DRAG_GRAPH_TEACHER or drag-graph.toml set it for good.",
        )


def make_teacher(
    settings: Settings, run: Run, interruption: Interruption, ledger: Ledger, privacy: Check | None = None
) -> Teacher:
    """Return the teacher that the settings name: curated:FILE, tape:FILE, or a model behind the tape and the run's budget.

    `privacy` as for `make_embedder`.
    """
    check_teacher(settings)
    if settings.teacher.startswith(FILES):
        return file_teacher(settings)
    from drag_graph.ledger.budget import Budget
    from drag_graph.models.chat_client import GGUF, price_of
    from drag_graph.models.teachers import teacher_server
    from drag_graph.models.teachers.highest_price import unpriced
    from drag_graph.models.teachers.served_teacher import LiteLLMTeacher

    if settings.budget_usd is not None and price_of(settings.teacher, 0, 0) is None:
        raise unpriced(settings.teacher)
    name = settings.teacher
    if name.startswith(GGUF):
        from drag_graph.models.gguf_runtime import recorded_name

        name = recorded_name(name.removeprefix(GGUF))
    return LiteLLMTeacher(
        name,
        server=replace(teacher_server(settings, privacy), sleep=interruption.sleep),
        tape=ledger.tape,
        budget=Budget(settings.budget_usd, ledger.account(run.job)),
        check=interruption.check,
    )


def file_teacher(settings: Settings) -> Teacher:
    """Return the teacher that is a file."""
    kind, _, place = settings.teacher.partition(":")
    if kind == "curated":
        from drag_graph.models.teachers.curated_teacher import CuratedTeacher

        return CuratedTeacher(Path(place).expanduser())
    from drag_graph.ledger.tape_files import TapeTeacher

    return TapeTeacher(Path(place).expanduser())


def check_batches(settings: Settings) -> None:
    """Raise ConfigurationError where the teacher that the settings name cannot be asked in batches; makes no call."""
    check_teacher(settings)
    if settings.teacher.startswith(FILES):
        raise ConfigurationError("a file as teacher has no batch API", hint="Leave --batch out, or give a model as --teacher.")
    from drag_graph.models.teachers.provider_batch_api import check_support

    check_support(settings.teacher, settings.teacher_base_url)


def make_batch_teacher(
    settings: Settings, run: Run, interruption: Interruption, ledger: Ledger, privacy: Check | None = None
) -> "BatchTeacher":
    """Return the model that the settings name, asked in batches of the run's job. Raises ConfigurationError, StoreLocked."""
    check_batches(settings)
    from drag_graph.models.teachers.batch_teacher import BatchTeacher
    from drag_graph.models.teachers.provider_batch_api import BatchApi

    inner = cast("LiteLLMTeacher", make_teacher(settings, run, interruption, ledger, privacy))
    api = BatchApi(
        settings.teacher,
        base_url=settings.teacher_base_url,
        api_key=settings.teacher_api_key.get_secret_value(),
        timeout=settings.teacher_timeout,
        privacy=privacy,
    )
    records = ledger.batches(run.job, settings.teacher)
    return BatchTeacher(inner, api, records, run_id=run.id, limit_usd=settings.budget_usd)


def make_pricing(settings: Settings, *, batch: bool = False) -> Pricing | None:
    """Return how the teacher's tokens are counted and paid (in a `batch`), or None for a teacher that is a file."""
    if settings.teacher.startswith(FILES):
        return None
    from drag_graph.models.chat_client import count_tokens, price_of
    from drag_graph.models.teachers.provider_batch_api import batch_price_of

    return Pricing(count_tokens, batch_price_of if batch else price_of)
