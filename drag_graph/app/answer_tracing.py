"""Trace answers back to evidence and teacher calls."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from drag_graph.app.answer_audit import Audit
from drag_graph.app.document_files import compare_with_files
from drag_graph.app.resource_user import ResourceUser
from drag_graph.compose.store_opening import recorded_requests
from drag_graph.errors import StoreError
from drag_graph.model import Answer
from drag_graph.report.audit_document import answer_document, compare_with_store, seen_by_teacher, self_contained


class Tracing(ResourceUser):
    """Traces answers."""

    def audit(self, answer: Answer, *, local: bool = False) -> Audit:
        """Trace an answer, stored or not, and compare its copies of the evidence with the store."""
        document = answer_document(answer)
        with self._resources.store() as store:
            compare_with_store(document, store)
        return self.completed(document, local=local)

    def completed(self, document: dict[str, Any], *, local: bool = False) -> Audit:
        """Return an audit with the facts of the ledger and, unless `local`, of the other sites."""
        settings = self._resources.settings
        compare_with_files(document["documents"])
        if settings.cloud and not local:
            from drag_graph.compose.site_setup import complete_audit

            complete_audit(document, settings)
        if not any(seen["messages"] for seen in document["privacy"].get("teacher_saw", ())):  # an answer file has them
            with recorded_requests(settings) as sent:
                document["privacy"]["teacher_saw"] = seen_by_teacher(document["calls"], sent)
        return Audit(document)

    def portable(self, answers: Sequence[Answer]) -> list[Answer]:
        """Return answers with everything that their audits show, as far as the store can be read."""
        with suppress(StoreError), self._resources.store() as store, recorded_requests(self._resources.settings) as sent:
            return [self_contained(answer, store, sent) for answer in answers]
        return list(answers)
