"""The students (docs/design.md, section 5), and which one a setting names."""

from drag_graph.errors import ConfigurationError
from drag_graph.models.locality import Check, is_local
from drag_graph.models.students.causal_student import CausalModel, CausalStudent
from drag_graph.models.students.nearest_student import NearestStudent
from drag_graph.ports.model_roles import Embedder, Student
from drag_graph.settings import Settings

NEAREST = "nearest"
IN_PROCESS = ("gguf:", "transformers:")
HINT = "Use nearest, gguf:FILE.gguf, transformers:NAME_OR_PATH, or a LiteLLM name such as ollama/llama3.2."


def is_here(settings: Settings) -> bool:
    """Whether the student that the settings name works on this machine."""
    chosen = settings.student.strip()
    return chosen == NEAREST or chosen.startswith(IN_PROCESS) or is_local(chosen, settings.student_base_url)


def make_student(settings: Settings, embedder: Embedder, privacy: Check | None = None) -> Student:
    """Return the student that `settings.student` names: `nearest`, `gguf:FILE`, `transformers:NAME_OR_PATH`, or a LiteLLM name.

    `privacy` looks at what leaves this machine; without one, nothing does.

    Loads no model and makes no call. Raises ConfigurationError for no name or a scoring that the student does not have,
    MissingExtra where a package is not installed.
    """
    chosen = settings.student.strip()
    if chosen == NEAREST:
        if settings.scoring != "auto":
            message = f"--scoring {settings.scoring} is for language models, and the student is {NEAREST}"
            raise ConfigurationError(message, hint="Leave it out, or choose another --student.")
        return NearestStudent(embedder)
    if chosen.startswith(IN_PROCESS):
        return CausalStudent(causal_model(chosen, settings), scoring=settings.scoring)
    from drag_graph.models.students.served_student import LiteLLMStudent

    return LiteLLMStudent(
        chosen,
        base_url=settings.student_base_url,
        api_key=settings.student_api_key.get_secret_value(),
        timeout=settings.student_timeout,
        scoring=settings.scoring,
        privacy=privacy,
    )


def causal_model(chosen: str, settings: Settings) -> CausalModel:
    """Return the model of this process that is named so. Raises as `make_student` does."""
    kind, _, name = chosen.partition(":")
    if not chosen.startswith(IN_PROCESS) or not name:
        raise ConfigurationError(f"{chosen!r} names no model of this process", hint=HINT)
    if kind == "gguf":
        from drag_graph.models.students.gguf_model import GgufModel

        return GgufModel(name)
    from drag_graph.models.students.transformers_model import TransformersModel

    return TransformersModel(name, quantisation=settings.quantisation)
