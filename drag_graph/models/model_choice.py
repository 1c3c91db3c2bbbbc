"""Which model a setting names, whether it runs on this machine, and how to make it."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from drag_graph.errors import ConfigurationError
from drag_graph.model import Scoring
from drag_graph.models.embedders.lexical_embedder import LexicalEmbedder
from drag_graph.models.embedders.local_embedder import MINILM, MINILM_PACKAGE, PACKAGES, PREFIX, LocalEmbedder
from drag_graph.models.locality import Check, is_local, refuse
from drag_graph.models.model_catalogue import GGUF, check_served_name
from drag_graph.models.model_server import Server
from drag_graph.ports.model_roles import Embedder, Reranker, Student
from drag_graph.ports.plugins import Group, Plugin, model_plugin
from drag_graph.ports.setting_types import ModelSpec, Role
from drag_graph.settings import Settings

if TYPE_CHECKING:
    from drag_graph.models.causal_model import CausalModel

NEAREST = "nearest"
FILES = ("curated:", "tape:")
"""Prefixes of teachers that are files."""
_OWN_NAMES: dict[Role, tuple[str, ...]] = {
    "student": (NEAREST,),
    "embedder": ("auto", "lexical", "minilm"),
    "summariser": ("rules",),
}
_OWN_PREFIXES: dict[Role, tuple[str, ...]] = {
    "student": (GGUF, "transformers:"),
    "embedder": ("sentence-transformers/", PREFIX),
    "rewriter": (GGUF,),
    "reranker": (GGUF, "transformers:"),
    "checker": (GGUF, "transformers:"),
}
_PLUGINS: dict[Role, Group] = {"student": "students", "embedder": "embedders", "teacher": "teachers", "reranker": "rerankers"}


def is_here(spec: ModelSpec) -> bool:
    """Return whether nothing leaves this machine for a role. `nearest` counts as local: its embedder has its own role."""
    if plugin := _plugin_of(spec):
        return bool(getattr(plugin[0], "is_local", False))
    return not spec.name or _is_own(spec) or is_local(spec.name, spec.base_url)


def is_served(spec: ModelSpec) -> bool:
    """Return whether a server runs the model of a role."""
    return bool(spec.name) and not _is_own(spec) and _plugin_of(spec) is None


def check_name(spec: ModelSpec) -> None:
    """Raise UnknownModel, with a similar name, if no model can have the name of `spec`. Loads nothing."""
    if is_served(spec):
        check_served_name(spec.name, spec.base_url, role=spec.role, own_names=_OWN_NAMES.get(spec.role, ()))


def make_embedder(settings: Settings, privacy: Check | None = None) -> Embedder:
    """Return the embedder of the settings: auto, lexical, minilm, a folder, a hub name, PLUGIN:NAME, or a served model.

    `auto` is MiniLM if its packages and weights are installed, else `lexical`. A hub name begins with `sentence-transformers:`
    or `sentence-transformers/`. `privacy` checks what leaves this machine; without one, nothing may. Raises MissingExtra and
    UnknownModel.
    """
    spec = settings.model_for("embedder")
    name = spec.name
    if not name:
        raise ConfigurationError("The embedder has no name.", hint="Use auto, lexical, minilm, a folder, or a LiteLLM name.")
    if embedder := plugin_model(spec, settings, privacy):
        return cast("Embedder", embedder)
    if name == "auto":
        name = "minilm" if all(find_spec(package) for package in (*PACKAGES, MINILM_PACKAGE)) else "lexical"
    if name == "lexical":
        return LexicalEmbedder()
    if name == "minilm" or _is_own(spec):
        return LocalEmbedder(MINILM if name == "minilm" else name)
    from drag_graph.models.embedders.served_embedder import ServedEmbedder

    return ServedEmbedder(Server.of(spec, privacy))


def follow_store(settings: Settings, recorded: tuple[str, int] | None) -> Settings:
    """Return the settings with the built-in embedder that filled the store, if theirs is `auto`.

    `recorded` is the name and dimension that the store records, None if it is empty.
    """
    if settings.embedder == "auto" and recorded is not None:
        for choice, name in (("lexical", LexicalEmbedder().name), ("minilm", MINILM)):
            if name == recorded[0]:
                return settings.model_copy(update={"embedder": choice})
    return settings


def make_student(settings: Settings, embedder: Embedder, privacy: Check | None = None) -> Student:
    """Return the student of the settings: nearest, gguf:FILE, transformers:NAME, a folder, PLUGIN:NAME, or a served model.

    Loads no model and makes no call. `privacy` as for `make_embedder`. Raises ConfigurationError for a scoring that the
    student does not support, and MissingExtra.
    """
    spec = settings.model_for("student")
    if spec.name == NEAREST:
        if settings.scoring != "auto":
            message = f"The student {NEAREST} does not support `scoring={settings.scoring}`, which is for language models."
            raise ConfigurationError(message, hint="Leave it out, or choose another student.")
        from drag_graph.models.students.nearest_student import NearestStudent

        return NearestStudent(embedder)
    if student := plugin_model(spec, settings, privacy):
        return cast("Student", student)
    return _language_model(spec, settings, settings.scoring, privacy)


def make_checker(settings: Settings) -> Student | None:
    """Return the model that checks sentences of answers: gguf:FILE, transformers:NAME, a folder, or a served model; or None.

    Loads no model and makes no call. Raises MissingExtra, UnknownModel, and ConfigurationError if it is not on this machine.
    """
    spec = settings.model_for("checker")
    if not spec.name:
        return None
    check_name(spec)
    if not is_here(spec):
        hint = "Use gguf:FILE, ollama/NAME, or a server on this machine with `checker_base_url=http://127.0.0.1:8080/v1`."
        raise ConfigurationError(f"The checker {spec.name!r} is not on this machine, so it must not read answers.", hint=hint)
    return _language_model(spec, settings, "letter" if _is_own(spec) else "auto", None)


def _language_model(spec: ModelSpec, settings: Settings, scoring: Scoring, privacy: Check | None) -> Student:
    if _is_own(spec):
        from drag_graph.models.students.causal_student import CausalStudent

        return CausalStudent(_causal_model(spec.name, settings), scoring=scoring)
    from drag_graph.models.students.served_student import ServedStudent

    return ServedStudent(Server.of(spec, privacy), scoring=scoring, seed=settings.seed)


def make_reranker(settings: Settings, privacy: Check | None = None) -> Reranker | None:
    """Return the reranker of the settings: gguf:FILE, transformers:NAME, a folder, PLUGIN:NAME, or a served model; or None.

    Loads no model and makes no call. `privacy` as for `make_embedder`. Raises MissingExtra and UnknownModel.
    """
    spec = settings.model_for("reranker")
    if not spec.name:
        return None
    if reranker := plugin_model(spec, settings, privacy):
        return cast("Reranker", reranker)
    if spec.name.startswith(GGUF):
        from drag_graph.models.gguf_runtime import GgufModel
        from drag_graph.models.rerankers.likelihood_reranker import LikelihoodReranker

        return LikelihoodReranker(GgufModel(spec.name.removeprefix(GGUF)))
    if _is_own(spec):
        from drag_graph.models.rerankers.cross_encoder import CrossEncoderReranker

        return CrossEncoderReranker(spec.name.removeprefix("transformers:"))
    from drag_graph.models.rerankers.served_reranker import ServedReranker

    return ServedReranker(Server.of(spec, privacy))


def _causal_model(name: str, settings: Settings) -> "CausalModel":
    kind = GGUF if name.startswith(GGUF) else "transformers:"
    place = name.removeprefix(kind)
    if not place:
        hint = "Use gguf:FILE.gguf, transformers:NAME, or a folder."
        raise ConfigurationError(f"The name {name!r} is not a model of this process.", hint=hint)
    if kind == GGUF:
        from drag_graph.models.gguf_runtime import GgufModel

        return GgufModel(place, seed=settings.seed)
    from drag_graph.models.transformers_runtime import TransformersModel

    return TransformersModel(place, quantisation=settings.quantisation, seed=settings.seed)


def server_of(spec: ModelSpec, privacy: Check | None = None) -> Server:
    """Return how to reach a chat model now; a GGUF file is loaded for it. `privacy` as for `make_embedder`."""
    if spec.name.startswith(GGUF):
        from drag_graph.models.gguf_runtime import chat_server

        return chat_server(spec.name.removeprefix(GGUF), spec.timeout)
    return Server.of(spec, privacy)


def recorded_name(spec: ModelSpec) -> str:
    """Return the name under which the calls of a chat model are recorded."""
    if spec.name.startswith(GGUF):
        from drag_graph.models import gguf_runtime

        return gguf_runtime.recorded_name(spec.name.removeprefix(GGUF))
    return spec.name


def plugin_model(spec: ModelSpec, settings: Settings, privacy: Check | None = None) -> Any:
    """Return the model that another package provides under the name of `spec`, or None."""
    plugin = _plugin_of(spec)
    return plugin and plugin[0](plugin[1], settings, privacy or partial(refuse, spec.name))


def _plugin_of(spec: ModelSpec) -> tuple[Plugin, str] | None:
    return None if _is_own(spec) else model_plugin(_PLUGINS.get(spec.role, "teachers"), spec.name)


def _is_own(spec: ModelSpec) -> bool:
    """Return whether a name means a model that needs no server."""
    prefixes = _OWN_PREFIXES.get(spec.role, (GGUF, *FILES))
    return spec.name in _OWN_NAMES.get(spec.role, ()) or spec.name.startswith(prefixes) or _is_folder(spec)


def _is_folder(spec: ModelSpec) -> bool:
    """Return whether a name means a folder. With a base URL it does not: some servers name their models by a folder."""
    if not spec.name or spec.base_url or spec.role not in {"student", "checker", "embedder", "reranker"}:
        return False
    folder = Path(spec.name).expanduser()
    try:
        # Every model of transformers has this file. Other folders may have the name of a served model by chance.
        return (folder / "config.json").is_file() if spec.role in {"student", "checker"} else folder.is_dir()
    except OSError:  # no name of a file, or a folder that must not be read
        return False
