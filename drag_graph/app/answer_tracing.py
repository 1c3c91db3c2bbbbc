"""Trace answers back to evidence and teacher calls."""

from drag_graph.app.answer_audit import Audit
from drag_graph.app.document_files import compare_with_files
from drag_graph.app.resource_user import ResourceUser
from drag_graph.compose.store_opening import recorded_requests
from drag_graph.model import Answer
from drag_graph.report.audit_document import answer_document, compare_with_store, seen_by_teacher


class Tracing(ResourceUser):
    """Traces answers."""

    def audit(self, answer: Answer, *, local: bool = False) -> Audit:
        """Trace an answer, stored or not, and compare its copies of the evidence with the store.

        The audit has the facts of the ledger and, unless `local`, of the other sites.
        """
        settings, document = self._resources.settings, answer_document(answer)
        with self._resources.store() as store:
            compare_with_store(document, store)
        compare_with_files(document["documents"])
        if settings.cloud and not local:
            from drag_graph.compose.site_setup import complete_audit

            complete_audit(document, settings)
        with recorded_requests(settings) as sent:
            document["privacy"]["teacher_saw"] = seen_by_teacher(document["calls"], sent)
        return Audit(document)
