"""The teachers, and how a model that teaches is reached."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from drag_graph.models.chat_client import Server
    from drag_graph.models.locality import Check
    from drag_graph.settings import Settings


def teacher_server(settings: "Settings", privacy: "Check | None" = None) -> "Server":
    """Return how the model that the settings name as teacher is reached now; `privacy` looks at what leaves this machine."""
    from drag_graph.models.chat_client import GGUF, Server

    if settings.teacher.startswith(GGUF):
        from drag_graph.models.gguf_runtime import chat_server

        return chat_server(settings.teacher.removeprefix(GGUF), settings.teacher_timeout)
    key = settings.teacher_api_key.get_secret_value()
    return Server(settings.teacher, settings.teacher_base_url, key, timeout=settings.teacher_timeout, privacy=privacy)
