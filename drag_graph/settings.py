"""All settings, and the only access to the environment (docs/reference/json.md).

Flags override the environment (`DRAG_GRAPH_*`, and Neo4j's own `NEO4J_*`), the environment overrides `drag-graph.toml`, and
that overrides the defaults. `origins` returns the source of each value. The descriptions are the help of the flags.
"""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings.sources import InitSettingsSource, PydanticBaseSettingsSource, TomlConfigSettingsSource

from drag_graph.errors import ConfigurationError
from drag_graph.identity import sha256_of
from drag_graph.model import Domain, Merge, Mode, Scoring, Strategy
from drag_graph.ports.setting_types import (
    ANSWER_TOKENS,
    BY_RULES,
    PREFIX,
    RETRIES,
    TEACHER_TOKENS,
    BaseUrl,
    Fraction,
    LineFormat,
    ModelSpec,
    Namespace,
    NonNegativeInt,
    Place,
    PositiveInt,
    Privacy,
    Ranking,
    Role,
    Seconds,
    StorePlace,
    Temperature,
    setting_prefix,
)

CONFIG_FILE = "drag-graph.toml"
NEO4J_VARIABLES = {
    "store": "NEO4J_URI",
    "neo4j_username": "NEO4J_USERNAME",
    "neo4j_password": "NEO4J_PASSWORD",
    "neo4j_database": "NEO4J_DATABASE",
}
DEFAULT_STORE = ".drag-graph/graph.lbug"


def _key_for(role: Role) -> Any:
    return Field(SecretStr(""), description=f"Key for the {role}'s server. Defaults to the provider's own variable.")


class Settings(BaseSettings):
    """The configuration of a command or an application. Unknown keys in `drag-graph.toml` are errors."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, toml_file=CONFIG_FILE, extra="forbid", frozen=True
    )

    # The store
    store: StorePlace = Field(
        DEFAULT_STORE, description="Path of an embedded store, or a Neo4j address: bolt://... or neo4j://..."
    )
    namespace: Namespace = Field("default", min_length=1, description="Separates projects that share a store.")
    neo4j_username: str = Field("neo4j", description="User name for Neo4j.")
    neo4j_password: SecretStr = Field(SecretStr(""), description="Password for Neo4j.")
    neo4j_database: str = Field("", description="Database of the Neo4j server. Defaults to that of the user.")
    store_timeout: Seconds = Field(30.0, description="Seconds to wait for an unavailable store.")

    # Privacy
    privacy: Privacy | None = Field(None, description="Privacy level. Defaults to `standard` when any model is remote.")
    rewriter: Place = Field(
        "", description="Local model that rephrases generalised questions: gguf:FILE, ollama/NAME, or a model at its base URL."
    )
    rewriter_base_url: BaseUrl = Field("", description="Address of the rewriter's OpenAI-compatible server on this machine.")

    # The embedder
    embedder: Place = Field(
        "auto",
        description="Embedder: auto (the store's), lexical, minilm, sentence-transformers:NAME, a folder, or a LiteLLM name.",
    )
    embedder_base_url: BaseUrl = Field("", description="Address of the embedder's OpenAI-compatible server.")
    embedder_api_key: SecretStr = _key_for("embedder")

    # The teacher
    teacher: Place = Field("", description="Teacher: a LiteLLM model, gguf:FILE, curated:FILE or tape:FILE.")
    teacher_base_url: BaseUrl = Field("", description="Address of the teacher's OpenAI-compatible server.")
    teacher_api_key: SecretStr = _key_for("teacher")
    teacher_timeout: Seconds = Field(120.0, description="Time limit of one call in seconds.")
    teacher_temperature: Temperature | None = Field(None, description="Temperature of the teacher's evidence. Defaults to 0.7.")
    teacher_max_tokens: PositiveInt = Field(TEACHER_TOKENS, description="Maximum number of tokens in a reply of the teacher.")
    retries: NonNegativeInt = Field(RETRIES, description="Number of times a request to a model is repeated after a failure.")
    ledger: Place = Field("", description="File of replies and runs. Defaults to a file next to an embedded store.")
    plan: Literal["lean", "paper"] = Field("lean", description="lean: 3 calls per query. paper: step by step.")
    number_of_evidence: PositiveInt | None = Field(
        None, description="Number of evidence to request (N), at least 1.25 times K. The default depends on the plan."
    )
    blind: bool = Field(default=False, description="Hide the options from the teacher.")
    drop_leaks: bool = Field(default=False, description="Drop evidence that seems to give the answer away.")
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = Field(
        None, description="Seed of the teacher's and the student's sampling. Another seed distills a question again."
    )
    extractor: Literal["auto", "teacher", "patterns"] = Field("auto", description="How to extract triples from evidence.")
    workers: PositiveInt = Field(4, description="Number of queries or documents processed at the same time.")
    document_extractor: Place = Field(
        "patterns", min_length=1, description="How to extract triples from documents: patterns, gguf:FILE, or a model."
    )
    chunk_size: Annotated[int, Field(ge=100)] = Field(1200, description="Maximum number of characters in a chunk.")
    batch_poll_seconds: Seconds = Field(60.0, description="Maximum number of seconds between two checks of a batch.")
    budget_usd: float | None = Field(None, ge=0, description="Spending limit in US dollars.")

    # Execution
    engine: Literal["local", "ray"] = Field("local", description="Where to distill: local (threads) or ray (a Ray cluster).")
    ray_address: str = Field("", description="Cluster: auto or HOST:PORT. Defaults to RAY_ADDRESS, else a new local cluster.")
    ray_processes: PositiveInt | None = Field(
        None, description="Number of worker processes. Defaults to the cluster's processors, up to `workers`."
    )

    # Ranking and the graph
    ranking: Ranking | None = Field(
        None, description="How to combine relevance and similarity: weighted or rank-sum. The default depends on the plan."
    )
    alpha: Fraction | None = Field(
        None, description="Weight of the teacher's relevance score. The default depends on plan and domain."
    )
    rank_relations: bool | None = Field(
        None, description="Ask the teacher to rank the relations as well. The default depends on the plan."
    )
    statements: Literal["joined", "teacher"] | None = Field(
        None, description="Who writes the statement of a merged edge. The default depends on the plan."
    )
    top_k: PositiveInt | None = Field(
        None, description="Number of evidence (at least 3) and edges to keep (K). The default depends on plan and domain."
    )
    domain: Domain | None = Field(None, description="Domain of questions that do not name one.")
    days_to_live: PositiveInt | None = Field(None, description="Days until a question expires: 30 if medical, else 90.")
    merge_similarity: Fraction | None = Field(None, description="Minimum similarity to merge names. Depends on the embedder.")
    strategy: Strategy | None = Field(
        None,
        description="Merge parallel edges by pair (contradictions stay apart), whole-pair, or predicate. "
        "The default depends on the plan.",
    )
    merge: Merge = Field("max", description="How to combine the confidences of merged triples.")
    threshold: Fraction | None = Field(None, description="Minimum confidence of an edge. The default depends on the plan.")

    # The student
    student: Place = Field(
        "nearest", min_length=1, description="Student: nearest, gguf:FILE, transformers:NAME, a folder, or a LiteLLM model."
    )
    student_base_url: BaseUrl = Field("", description="Address of the student's OpenAI-compatible server.")
    student_api_key: SecretStr = _key_for("student")
    student_timeout: Seconds = Field(120.0, description="Time limit of one call in seconds.")
    quantisation: Literal["auto", "none", "8bit", "4bit"] = Field(
        "auto", description="Precision of a transformers student. `auto` lowers it if memory is short."
    )
    scoring: Scoring = Field("auto", description="How the student chooses an option. `auto` depends on the kind of student.")
    mode: Mode = Field("combined", description="Which kinds of lines to show the student.")
    line_format: LineFormat = Field("sentence", description="Format of edges in the context: sentence, arrow or json.")
    max_lines: PositiveInt | None = Field(
        None, description="Maximum number of evidence lines and of edges shown to the student."
    )
    shared_lines: NonNegativeInt = Field(
        0, description="Maximum number of evidence lines and of edges added from other questions."
    )
    line_order: Literal["best-first", "best-last"] = Field("best-first", description="Order of the context lines.")
    brief: bool = Field(default=False, description="Request a few words without citations for a question without options.")
    abstain: bool = Field(default=True, description="Give no answer to an open question that no line seems to answer.")
    max_answer_tokens: PositiveInt = Field(
        ANSWER_TOKENS, description="Maximum number of tokens in the answer to a question without options."
    )
    system_prompt: Place = Field("", description="File with the instruction for questions without options.")
    checker: Place = Field(
        "", description="Local model that checks sentences: gguf:FILE, transformers:NAME, a folder, or a served model."
    )
    checker_base_url: BaseUrl = Field("", description="Address of the checker's OpenAI-compatible server on this machine.")
    token_budget: PositiveInt = Field(1024, description="Maximum number of tokens in the context lines.")
    relevance: Fraction | None = Field(
        None, description="Minimum similarity for a stored query to count as relevant. The default depends on the embedder."
    )
    reranker: Place = Field(
        "", description="Model that reorders lines: a rerank model, transformers:NAME, a folder, or gguf:FILE."
    )
    reranker_base_url: BaseUrl = Field("", description="Address of the reranker's server, which has the path /rerank.")
    reranker_api_key: SecretStr = _key_for("reranker")

    # A site of a cloud (docs/how-to/sites.md)
    candidates: PositiveInt = Field(
        3, description="Number of answers to each question whose agreement decides if a site is sure."
    )
    agreement: Fraction = Field(0.35, description="Minimum agreement of candidate answers; below it, the site asks the cloud.")
    gate: Literal["formula", "model"] = Field(
        "formula", description="Who compares the candidate answers to an open question: a formula, or the student itself."
    )
    cloud: BaseUrl = Field("", description="Address of the cloud.")
    cloud_ca: Place = Field("", description="A PEM file with the certificates to trust. Defaults to those of this machine.")
    cloud_token: SecretStr = Field(SecretStr(""), description="Token of this site, as `drag-graph cloud edges add` prints it.")
    edge_name: str = Field("", description="Name of this site in the cloud.")
    insecure: bool = Field(default=False, description="Allow unencrypted requests over a network.")
    release: Literal["nothing", "passages"] = Field("nothing", description="What this site releases in addition to summaries.")
    never_leave: tuple[str, ...] = Field((), description="Sources of which nothing leaves: ids, names or globs of names.")

    # A cloud
    asked_summaries: PositiveInt = Field(10, description="Number of nearest summaries used to choose which sites to ask (m).")
    asked_edges: PositiveInt = Field(4, description="Maximum number of sites to ask (k).")
    asked_seconds: Annotated[float, Field(gt=0, le=600)] = Field(10.0, description="Seconds in which sites must answer.")

    # Communities
    summariser: Place = Field("rules", min_length=1, description="Summariser: rules, a LiteLLM model, gguf:FILE, or tape:FILE.")
    summariser_base_url: BaseUrl = Field("", description="Address of the summariser's OpenAI-compatible server.")
    summariser_api_key: SecretStr = _key_for("summariser")
    community_resolution: Annotated[float, Field(gt=0)] = Field(
        1.0, description="Leiden resolution: a higher value finds more and smaller communities."
    )
    community_min_size: PositiveInt = Field(
        5, description="Minimum community size. Smaller communities are merged into a neighbour."
    )
    log_json: bool = Field(default=False, description="Log JSON lines to stderr.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("warning", description="Lowest level of logged events.")

    @classmethod
    def settings_customise_sources(  # type: ignore[override]
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        **_others: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources in order of precedence: flags, DRAG_GRAPH_*, NEO4J_*, the file. No .env file is read."""
        neo4j = InitSettingsSource(settings_cls, _neo4j_variables())
        return (init_settings, env_settings, neo4j, _config_file(settings_cls))

    @field_validator("*", mode="before")
    @classmethod
    def _reject_boolean(cls, value: Any, field: ValidationInfo) -> Any:
        annotation = cls.model_fields[str(field.field_name)].annotation
        if isinstance(value, bool) and bool not in (annotation, *get_args(annotation)):
            raise ValueError("must be a value, not true or false")
        return value

    def model_for(self, role: Role) -> ModelSpec:
        """Return the model of a role. Summariser, rewriter and extractor have the time limit of the teacher."""
        prefix = setting_prefix(role)
        name: str = (self.document_extractor if role == "extractor" else getattr(self, role)).strip()
        key: SecretStr = getattr(self, f"{prefix}_api_key", SecretStr(""))
        timeout = {"student": self.student_timeout, "embedder": 60.0, "reranker": 60.0}.get(role, self.teacher_timeout)
        is_rules = role in {"summariser", "extractor"} and name in BY_RULES
        address = getattr(self, f"{prefix}_base_url")
        return ModelSpec(role, "" if is_rules else name, address, key.get_secret_value(), timeout, self.retries)

    @property
    def uses_neo4j(self) -> bool:
        """Whether the store is a Neo4j server."""
        return "://" in self.store

    @property
    def ledger_path(self) -> Path:
        """The ledger: as set, else next to an embedded store, else in `.drag-graph` in the working directory.

        Each embedded store and each namespace of a Neo4j database has its own.
        """
        if self.ledger:
            return Path(self.ledger).expanduser()
        if self.uses_neo4j:
            name = sha256_of([self.store, self.neo4j_database, self.namespace])[:12]
            return Path(DEFAULT_STORE).parent / f"neo4j-{name}.ledger"
        store = Path(self.store).expanduser()
        return store.with_name(f"{store.name}.ledger")

    @property
    def vault_path(self) -> Path:
        """The file of original private details, next to the ledger."""
        return self._beside_ledger("vault")

    @property
    def site_token_path(self) -> Path:
        """Where the token of this site is: next to the ledger."""
        return self._beside_ledger("edge-token")

    @property
    def traffic_path(self) -> Path:
        """Where the traffic log of this site is: next to the ledger."""
        return self._beside_ledger("traffic")

    @property
    def service_path(self) -> Path:
        """The file in which a running service writes its address for commands on this machine."""
        if not self.uses_neo4j:
            store = Path(self.store).expanduser()
            return store.with_name(f"{store.name}.service")
        return Path(DEFAULT_STORE).with_name(f"{sha256_of([self.store, self.neo4j_database, self.namespace])[:16]}.service")

    @property
    def service_records_path(self) -> Path:
        """The file of the service's keys and jobs, next to the ledger. A store has one for all namespaces."""
        ledger = self.model_copy(update={"namespace": ""}).ledger_path
        return ledger.with_name(f"{ledger.name.removesuffix('.ledger')}.service-records")

    def _beside_ledger(self, suffix: str) -> Path:
        ledger = self.ledger_path
        return ledger.with_name(f"{ledger.name.removesuffix('.ledger')}.{suffix}")

    @property
    def own_files(self) -> tuple[Path, ...]:
        """Files that no output may overwrite, nor files whose names begin with theirs."""
        kind, _, teacher = self.teacher.partition(":")
        inputs = (Path(teacher),) if kind in {"curated", "tape"} else ()
        store = () if self.uses_neo4j else (Path(self.store).expanduser(),)
        databases = (self.ledger_path, self.vault_path, self.traffic_path, self.service_records_path)
        logs = (path.with_name(f"{path.name}-{part}") for path in databases for part in ("wal", "shm"))
        others = (self.vault_path.with_name("vault.key"), self.site_token_path, self.service_path)
        return (*store, *databases, *logs, *others, *inputs)


def _neo4j_variables() -> dict[str, str]:
    """Return the values of the variables that Neo4j's own tools read, by setting."""
    return {name: value for name, variable in NEO4J_VARIABLES.items() if (value := os.environ.get(variable))}


def _own_variables() -> dict[str, str]:
    """Return the names of our variables in the environment, by setting."""
    return {key.upper().removeprefix(PREFIX).lower(): key for key in os.environ if key.upper().startswith(PREFIX)}


def _config_file(settings_cls: type[BaseSettings]) -> TomlConfigSettingsSource:
    try:
        return TomlConfigSettingsSource(settings_cls, Path(CONFIG_FILE))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"Cannot read {CONFIG_FILE}: {error}.", hint="Fix the file, or move it.") from error


def load_settings(flags: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings of this process. A flag with the value None counts as not given.

    Raises ConfigurationError with the name of the setting and the reason, never with the value of a secret.
    """
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    for name, variable in _own_variables().items():
        if name not in Settings.model_fields:
            raise _unknown(variable, "variable of the environment")
    return _validated(given)


def changed_settings(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return the settings with changed values; None changes nothing. Raises ConfigurationError as `load_settings` does."""
    given = {name: value for name, value in values.items() if value is not None}
    return _validated({name: getattr(settings, name) for name in Settings.model_fields} | given) if given else settings


def _validated(given: Mapping[str, Any]) -> Settings:
    if unknown := [name for name in given if name not in Settings.model_fields]:
        raise _unknown(unknown[0], "setting")
    try:
        settings = Settings(**given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["loc"][0] not in Settings.model_fields:
            raise _unknown(name, f"setting in {CONFIG_FILE}") from error
        reason = first["msg"].removeprefix("Value error, ")
        origin = origins(given)[str(first["loc"][0])]
        hint = f"Pass another value: `{name}=VALUE`." if origin == "flag" else f"It comes from {origin}; change it there."
        raise ConfigurationError(f"Setting {name!r}: {reason}.", hint=hint) from error
    if os.path.realpath(settings.ledger_path) == os.path.realpath(Path(settings.store).expanduser()):
        hint = "Choose another file with `ledger=FILE`, or leave it out to put the ledger next to the store."
        raise ConfigurationError(f"The ledger and the store are the same file: {settings.ledger}.", hint=hint)
    return settings


def _unknown(name: str, kind: str) -> ConfigurationError:
    own = name.upper().removeprefix(PREFIX).lower()
    near = get_close_matches(own, Settings.model_fields, n=1)
    meant = f"{name[: len(name) - len(own)]}{near[0].upper() if name.isupper() else near[0]}" if near else ""
    hint = "`drag-graph config` lists the settings."
    return ConfigurationError(f"Unknown {kind}: {name!r}.", hint=f"Did you mean {meant}? {hint}" if meant else hint)


def origins(flags: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the source of each setting's value: `flag`, a variable, the name of the file, or `default`."""
    flagged = {name for name, value in (flags or {}).items() if value is not None}
    in_file = set(_config_file(Settings)())
    variables = {name: NEO4J_VARIABLES[name] for name in _neo4j_variables()}
    variables |= {name: variable for name, variable in _own_variables().items() if os.environ[variable]}
    return {
        name: "flag" if name in flagged else variables.get(name, CONFIG_FILE if name in in_file else "default")
        for name in Settings.model_fields
    }
