"""`graph.evaluation`: accuracy on questions with known answers."""

from drag_graph.app.resource_user import ResourceUser


class EvaluationGroup(ResourceUser):
    """Run, compare and draw evaluations."""
