"""Every setting, and the only reader of the environment (docs/design.md, section 6).

Flags win over the environment (`DRAG_GRAPH_*`, and Neo4j's own `NEO4J_*`), the environment over `drag-graph.toml`, and
that over the defaults. `origins` tells where each value came from.
"""

import os
import re
import unicodedata
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from pydantic import AfterValidator, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from drag_graph.errors import ConfigurationError
from drag_graph.identity import sha256_of
from drag_graph.model import Domain, Merge, Mode, Scoring, Strategy

CONFIG_FILE = "drag-graph.toml"
PREFIX = "DRAG_GRAPH_"
NEO4J_VARIABLES = {
    "store": "NEO4J_URI",
    "neo4j_username": "NEO4J_USERNAME",
    "neo4j_password": "NEO4J_PASSWORD",
    "neo4j_database": "NEO4J_DATABASE",
}
DEFAULT_STORE = ".drag-graph/graph.lbug"

Privacy = Literal["strict", "standard", "off"]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


def _address(value: str) -> str:
    parts = urlsplit(value)
    if value and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise ValueError("must be an address such as http://HOST:PORT")
    return value


def _without_controls(value: str) -> str:
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise ValueError("must have no control characters")
    return value


def _place(value: str) -> str:
    try:
        os.path.realpath(Path(re.sub("^(curated|gguf|tape|transformers):", "", value)).expanduser())
    except (RuntimeError, ValueError) as error:  # the home of an unknown user, a null character
        raise ValueError(f"is no path ({error})") from None
    return value


BaseUrl = Annotated[str, AfterValidator(_address)]
Place = Annotated[str, AfterValidator(_place)]


def _store_place(value: str) -> str:
    if "://" not in value and not Path(value).name:
        raise ValueError("must be the path of a file, or an address such as bolt://HOST:7687")
    return _place(value)


class Settings(BaseSettings):
    """What a run is made with. Unknown keys in `drag-graph.toml` are an error, not a surprise."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, toml_file=CONFIG_FILE, extra="forbid", frozen=True
    )

    # The store
    store: Annotated[str, AfterValidator(_store_place)] = Field(
        DEFAULT_STORE, description="A path (embedded), or bolt://… or neo4j://… (Neo4j)."
    )
    namespace: Annotated[str, AfterValidator(_without_controls)] = Field(
        "default", min_length=1, description="Projects that share a store cannot see each other."
    )
    neo4j_username: str = "neo4j"
    neo4j_password: SecretStr = SecretStr("")
    neo4j_database: str = ""
    store_timeout: Annotated[float, Field(gt=0)] = Field(30.0, description="Seconds to wait for a store that is away.")

    # Privacy
    privacy: Privacy | None = Field(
        None, description="What is generalised first; by default standard where a model is not on this machine."
    )

    rewriter: Place = Field(
        "", description="A model of this machine that words generalised questions anew: gguf:FILE, ollama/NAME, or a name."
    )
    rewriter_base_url: BaseUrl = Field("", description="The rewriter's OpenAI-compatible server, on this machine.")

    # The embedder
    embedder: Place = Field("auto", description="auto, lexical, minilm, a folder, or a LiteLLM name.")
    embedder_base_url: BaseUrl = ""
    embedder_api_key: SecretStr = SecretStr("")

    # The teacher
    teacher: Place = Field("", description="A LiteLLM model, gguf:FILE, curated:FILE or tape:FILE; none by default.")
    teacher_base_url: BaseUrl = Field("", description="An OpenAI-compatible server.")
    teacher_api_key: SecretStr = SecretStr("")
    teacher_timeout: Annotated[float, Field(gt=0)] = Field(120.0, description="Seconds a call may take.")
    ledger: Place = Field("", description="The file of replies and runs; by default beside an embedded store.")
    plan: Literal["lean", "paper"] = Field("lean", description="lean: 3 calls a query; paper: step by step (docs/plans.md).")
    number_of_evidence: PositiveInt | None = Field(
        None, description="Evidence asked for (N); by default the plan's, and at least 1.25 K."
    )
    blind: bool = Field(default=False, description="Do not show the options to the teacher.")
    extractor: Literal["auto", "teacher", "patterns"] = Field("auto", description="Who reads the triples.")
    workers: PositiveInt = Field(4, description="Queries at once.")
    document_extractor: Place = Field(
        "patterns",
        min_length=1,
        description="Who reads the triples of documents: patterns (rules), spacy (rules and a parser), gguf:FILE, or a model.",
    )
    chunk_size: Annotated[int, Field(ge=100)] = Field(1200, description="Characters of a document's chunk, at most.")
    batch_poll_seconds: Annotated[float, Field(gt=0)] = Field(60.0, description="Between looks at a batch, at most.")
    budget_usd: float | None = Field(None, ge=0, description="Never spend more.")

    # Where the work is done
    engine: Literal["local", "ray"] = Field("local", description="local: threads of this process; ray: a Ray cluster.")
    ray_address: str = Field(
        "", description="auto or HOST:PORT of the cluster; by default RAY_ADDRESS, else one of this machine."
    )
    ray_processes: PositiveInt | None = Field(
        None, description="Worker processes; by default the cluster's processors, at most `workers`."
    )

    # Ranking and the graph; what is not set follows from the plan (docs/plans.md)
    ranking: Literal["weighted", "rank-sum"] | None = Field(None, description="How judgement and cosine combine; by plan.")
    alpha: Fraction | None = Field(None, description="Weight of the teacher's judgement; by plan and domain.")
    rank_relations: bool | None = Field(None, description="Ask for the order of relations, too; by plan.")
    statements: Literal["joined", "teacher"] | None = Field(None, description="Who words an edge of several triples; by plan.")
    top_k: PositiveInt | None = Field(None, description="Evidence (at least 3) and edges kept (K); by plan and domain.")
    domain: Domain | None = Field(None, description="The domain of questions that name none.")
    strategy: Strategy = Field("pair", description="What parallel edges merge by.")
    merge: Merge = Field("max", description="How confidences merge.")
    threshold: Fraction | None = Field(None, description="Prune edges below this confidence; by plan.")
    entity_similarity: Fraction | None = Field(None, description="Cosine of one entity; by default measured for the embedder.")
    predicate_similarity: Fraction | None = Field(None, description="Cosine of one predicate; likewise.")
    days_to_live: PositiveInt | None = Field(None, description="By default 30 for medical questions, 90 for others.")

    # The student
    student: Place = Field("nearest", min_length=1, description="nearest, gguf:FILE, transformers:NAME, or a LiteLLM model.")
    student_base_url: BaseUrl = Field("", description="An OpenAI-compatible server.")
    student_api_key: SecretStr = SecretStr("")
    student_timeout: Annotated[float, Field(gt=0)] = 120.0
    quantisation: Literal["auto", "none", "8bit", "4bit"] = "auto"
    scoring: Scoring = Field("auto", description="How a student chooses an option (docs/students.md).")
    mode: Mode = Field("combined", description="What the student is shown.")
    line_format: Literal["arrow", "sentence", "json"] = Field("sentence", description="How edges are written.")
    max_lines: PositiveInt | None = Field(None, description="Evidence, and edges, shown at most: the best ones.")
    shared_lines: NonNegativeInt = Field(0, description="Evidence, and edges, of other questions shown beside the own ones.")
    line_order: Literal["best-first", "best-last"] = Field("best-first", description="Which line stands next to the question.")
    brief: bool = Field(default=False, description="Ask for a few words in answer to a question without options.")
    token_budget: PositiveInt = Field(1024, description="Tokens of lines.")
    relevance: Fraction | None = Field(None, description="Cosine from which a stored query is relevant; by embedder.")

    # A site of a cloud (docs/edges.md)
    candidates: PositiveInt = Field(
        3, description="Number of answers to each question whose agreement decides if a site is sure."
    )
    agreement: Fraction = Field(
        0.5, description="Minimum agreement between candidate answers. Below it, the site asks the cloud."
    )
    cloud: BaseUrl = Field("", description="Address of the cloud.")
    cloud_ca: Place = Field("", description="A PEM file with the certificates to trust. Defaults to those of this machine.")
    cloud_token: SecretStr = SecretStr("")
    edge_name: str = Field("", description="Name of this site in the cloud.")
    insecure: bool = Field(default=False, description="Allow unencrypted requests over a network.")
    release: Literal["nothing", "passages"] = Field("nothing", description="What this site releases in addition to summaries.")
    never_leave: tuple[str, ...] = Field((), description="Sources of which nothing leaves: ids, names or globs of names.")

    # A cloud
    asked_summaries: PositiveInt = Field(10, description="Number of nearest summaries used to choose which sites to ask (m).")
    asked_edges: PositiveInt = Field(4, description="Maximum number of sites to ask (k).")
    asked_seconds: Annotated[float, Field(gt=0, le=600)] = Field(10.0, description="Seconds in which sites must answer.")

    # Communities
    summariser: Place = Field("rules", min_length=1, description="rules, a LiteLLM model, gguf:FILE, or tape:FILE.")
    summariser_base_url: BaseUrl = Field("", description="An OpenAI-compatible server.")
    summariser_api_key: SecretStr = SecretStr("")
    community_resolution: Annotated[float, Field(gt=0)] = Field(1.0, description="Higher: more and smaller communities.")
    community_min_size: PositiveInt = Field(5, description="Things that a community has at least, where it has neighbours.")

    # Logs
    log_json: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "warning"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order them: flags, then DRAG_GRAPH_*, then NEO4J_*, then the file; no .env file is read behind the user's back."""
        del dotenv_settings, file_secret_settings
        return (init_settings, env_settings, _Neo4jVariables(settings_cls), _config_file(settings_cls))

    @field_validator("*", mode="before")
    @classmethod
    def _reject_boolean(cls, value: Any, field: ValidationInfo) -> Any:
        annotation = cls.model_fields[str(field.field_name)].annotation
        if isinstance(value, bool) and bool not in (annotation, *get_args(annotation)):
            raise ValueError("takes a value, not true or false")
        return value

    @property
    def uses_neo4j(self) -> bool:
        """Whether the store is a Neo4j address."""
        return "://" in self.store

    @property
    def ledger_path(self) -> Path:
        """Where the ledger is: as set, else beside an embedded store, else in the working folder's `.drag-graph`.

        Each store has its own, and in Neo4j each namespace.
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
        """Where the originals of what was generalised are: beside the ledger."""
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
    def operator_path(self) -> Path:
        """Where a running cloud writes how `cloud edges` reaches it: next to the ledger."""
        return self._beside_ledger("operator")

    def _beside_ledger(self, suffix: str) -> Path:
        ledger = self.ledger_path
        return ledger.with_name(f"{ledger.name.removesuffix('.ledger')}.{suffix}")

    @property
    def own_files(self) -> tuple[Path, ...]:
        """What no output may be written to; nor what is beside these under a longer name."""
        named = tuple(Path(name.partition(":")[2]) for name in (self.teacher,) if name.startswith(("curated:", "tape:")))
        store = () if self.uses_neo4j else (Path(self.store).expanduser(),)
        own = (self.ledger_path, self.vault_path, self.traffic_path)
        beside = (path.with_name(f"{path.name}-{part}") for path in own for part in ("wal", "shm"))
        return (*store, *own, *beside, self.vault_path.with_name("vault.key"), self.site_token_path, self.operator_path, *named)


class _Neo4jVariables(PydanticBaseSettingsSource):
    """The variables that the Neo4j ecosystem names."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        del field
        return os.environ.get(NEO4J_VARIABLES.get(field_name, "")), field_name, False

    def __call__(self) -> dict[str, Any]:
        found = {name: os.environ.get(variable) for name, variable in NEO4J_VARIABLES.items()}
        return {name: value for name, value in found.items() if value}


def _config_file(settings_cls: type[BaseSettings]) -> TomlConfigSettingsSource:
    try:
        return TomlConfigSettingsSource(settings_cls, Path(CONFIG_FILE))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{CONFIG_FILE} cannot be read: {error}", hint="Mend or move the file.") from error


def load_settings(flags: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings of this process; `flags` with value None count as not given.

    Raises ConfigurationError that names the setting and what is wrong with it; a secret's value is never in the message.
    """
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    for variable in os.environ:
        if variable.upper().startswith(PREFIX) and variable.upper().removeprefix(PREFIX).lower() not in Settings.model_fields:
            raise _unknown(variable, "the environment")
    return _validated(given)


def changed_settings(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return settings with other values; a value None changes nothing. Raises ConfigurationError as `load_settings` does."""
    given = {name: value for name, value in values.items() if value is not None}
    return _validated({name: getattr(settings, name) for name in Settings.model_fields} | given) if given else settings


def _validated(given: Mapping[str, Any]) -> Settings:
    if unknown := [name for name in given if name not in Settings.model_fields]:
        raise _unknown(unknown[0], "the call")
    try:
        settings = Settings(**given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["loc"][0] not in Settings.model_fields:
            raise _unknown(name, CONFIG_FILE) from error
        hint = f"See `drag-graph config`; a value can come from a flag, {PREFIX}{name.upper()} or {CONFIG_FILE}."
        raise ConfigurationError(f"setting {name!r}: {first['msg'].removeprefix('Value error, ')}", hint=hint) from error
    if os.path.realpath(settings.ledger_path) == os.path.realpath(Path(settings.store).expanduser()):
        hint = "Name another file with --ledger, or leave it out: then it is beside the store."
        raise ConfigurationError(f"the ledger and the store are one file: {settings.ledger}", hint=hint)
    return settings


def _unknown(name: str, where: str) -> ConfigurationError:
    own = name.upper().removeprefix(PREFIX).lower()
    near = get_close_matches(own, Settings.model_fields, n=1)
    meant = f"; did you mean {name[: len(name) - len(own)]}{near[0].upper() if name.isupper() else near[0]}?" if near else ""
    return ConfigurationError(
        f"{where} has {name}, which is not a setting{meant}", hint="`drag-graph config` lists the settings."
    )


def origins(flags: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return for each setting where its value came from: `flag`, a variable's name, the file's name, or `default`."""
    given = {name for name, value in (flags or {}).items() if value is not None}
    in_file = set(_config_file(Settings)())
    result = {}
    for name in Settings.model_fields:
        variable = next((key for key in os.environ if key.upper() == PREFIX + name.upper() and os.environ[key]), "")
        neo4j = NEO4J_VARIABLES.get(name, "")
        if name in given:
            result[name] = "flag"
        elif variable:
            result[name] = variable
        elif neo4j and os.environ.get(neo4j):
            result[name] = neo4j
        else:
            result[name] = CONFIG_FILE if name in in_file else "default"
    return result


def process_environment() -> Mapping[str, str]:
    """Return a copy of the process's environment, for adapters that need to look something up in it."""
    return dict(os.environ)


def goes_by_proxy(address: str) -> bool:
    """Return whether HTTP clients send what is for this address to a proxy that the environment names."""
    parts, proxies = urlsplit(address), getproxies_environment()
    return not {parts.scheme, "all"}.isdisjoint(proxies) and not proxy_bypass(parts.hostname or "", proxies)


def prepare_libraries() -> None:
    """Set what the model libraries read when they are imported, unless the user has set it; call before importing them.

    They stay off the network for what they need not fetch, read no .env file behind the user's back, and let a processor go
    instead of spinning on it (with other work on the machine, spinning made a small batch of embeddings 8 times slower).
    """
    for name, value in {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "PYTHON_DOTENV_DISABLED": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_WAIT_POLICY": "PASSIVE",
    }.items():
        os.environ.setdefault(name, value)


def prepare_ray(address: str) -> str:
    """Set what Ray reads when it is imported, unless the user has set it; return the address meant, '' for a new cluster.

    No usage statistics; nothing of the working folder is uploaded under `uv run`; a cluster of our own stays on the loopback.
    """
    address = address or os.environ.get("RAY_ADDRESS", "")
    for name, value in {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        **({} if address else {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}),
    }.items():
        os.environ.setdefault(name, value)
    return address


def adopt_variables(variables: Mapping[str, str]) -> None:
    """Set variables of this process, for libraries that look there."""
    os.environ.update(variables)
