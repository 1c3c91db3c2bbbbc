"""The students (docs/design.md, section 5), and which one a setting names."""

from drag_graph.errors import ConfigurationError
from drag_graph.ports.models import Embedder, Student
from drag_graph.settings import Settings
from drag_graph.students.nearest import NearestStudent

NEAREST = "nearest"
TRANSFORMERS_PREFIX = "transformers:"


def make_student(settings: Settings, embedder: Embedder) -> Student:
    """Return the student that `settings.student` names: `nearest`, `transformers:NAME_OR_PATH`, or a LiteLLM name.

    Loads no model and makes no call. Raises ConfigurationError for no name, MissingExtra where a package is not installed.
    """
    chosen = settings.student.strip()
    if chosen == NEAREST:
        return NearestStudent(embedder)
    name = chosen.removeprefix(TRANSFORMERS_PREFIX)
    if not name:
        hint = "Use nearest, transformers:NAME_OR_PATH, or a LiteLLM name such as ollama/llama3.2."
        raise ConfigurationError("no student is named", hint=hint)
    if name != chosen:
        from drag_graph.students.transformers import TransformersStudent

        return TransformersStudent(name, quantisation=settings.quantisation)
    from drag_graph.students.litellm import LiteLLMStudent

    return LiteLLMStudent(
        chosen,
        base_url=settings.student_base_url,
        api_key=settings.student_api_key.get_secret_value(),
        timeout=settings.student_timeout,
    )
