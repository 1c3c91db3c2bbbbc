"""Methods that answer questions and trace answers: ask, answers, audit, show."""

from drag_graph.app.resource_user import ResourceUser


class Answering(ResourceUser):
    """Ask questions, list and audit answers, show what is stored."""
