"""Run commands through the running service: the methods of `DragGraph` that they call, over its routes.

Imports only the standard library until a job is submitted, so that a command is as fast as the service.
"""

import hashlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from drag_graph import errors

from .output import STANDARD

if TYPE_CHECKING:
    from drag_graph.app.application import DragGraph
    from drag_graph.app.questions import Questions
    from drag_graph.inputs import InputLine
    from drag_graph.jobs.runner import OnProgress
    from drag_graph.ports.run_journal import QueryResult
    from drag_graph.service.discovery import RunningService
    from drag_graph.settings import Settings

PATIENCE = 330.0
"""Seconds to wait for data. The service gives up an answer after 300, and sends a comment every 15 between events."""
EVENT_STREAM = "text/event-stream"
SEARCH = ("token_budget",)
ANSWER = (
    *("mode", "line_format", "max_lines", "shared_lines", "line_order", "brief", "abstain", "max_answer_tokens", "relevance"),
    *SEARCH,
)
AGGREGATION = ("strategy", "merge", "threshold", "budget_usd")
INGEST = ("chunk_size", *AGGREGATION)
DISTILL = (
    *("plan", "number_of_evidence", "blind", "drop_leaks", "seed", "extractor", "ranking", "alpha", "rank_relations"),
    *("statements", "top_k", "domain", *AGGREGATION),
)
"""Settings that a request can choose (`drag_graph.service.asking_routes` and `.job_routes`)."""
_ANSWER_ID = re.compile("[0-9a-f]{4,32}")


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """The reply of a route: the same document as `to_dict` of the method's result."""

    document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the document."""
        return self.document


@dataclass(frozen=True, slots=True)
class JobReport(ServiceReply):
    """The report of a job that has ended, as `RunReport` and `IngestReport` show it. `stopped` is why it ended early."""

    stopped: errors.DragGraphError | None

    def result(self) -> "JobReport":
        """Return the report, as a `RunHandle` whose work has ended."""
        return self

    @property
    def exit_code(self) -> int:
        """0 all done, 1 some items failed, or the code of what stopped the job."""
        if self.stopped:
            return self.stopped.exit_code
        counts = {**self.document["totals"], **self.document.get("given_triples", {})}
        return 1 if any(counts.get(name) for name in ("quarantined", "rejected", "failed", "rejected_lines")) else 0

    @property
    def run_id(self) -> str:
        """The run's id, for `drag-graph runs show`."""
        return str(self.document["run_id"])

    @property
    def rejected(self) -> "list[InputLine]":
        """The lines that are not questions."""
        from drag_graph.inputs import InputLine

        return [InputLine(line["line"], problem=line["reason"]) for line in self.document["rejected"]]

    def results(self) -> "Iterator[QueryResult]":
        """Yield the results in the input's order."""
        from drag_graph.ports.run_journal import QueryResult

        return (QueryResult(**result) for result in self.document["queries"])

    def totals(self) -> dict[str, Any]:
        """Return counts, cost and seconds."""
        return dict(self.document["totals"])


class ServiceClient:
    """Asks, searches, audits, distills and ingests through the service that holds the store of `settings`.

    `flags` are the settings of the command line, None if not given. A method raises ConfigurationError for flags that its
    request cannot pass on, StoreUnavailable if the service ends meanwhile, and the service's own errors.
    """

    def __init__(self, service: "RunningService", settings: "Settings", flags: Mapping[str, Any]) -> None:
        self.settings = settings
        self._service = service
        self._given = {name: value for name, value in flags.items() if value is not None and name not in {"store", "namespace"}}

    def ask(
        self, text: str | None, options: Sequence[str], *, explain: bool, on_token: Callable[[str], None] | None, **asking: Any
    ) -> dict[str, Any]:
        """Return the document of an answer; `on_token` receives its text while the student writes it."""
        body = {"question": text, "options": options, "explain": explain, **asking, **self._settings(ANSWER)}
        if on_token is None:
            return dict(self._document("POST", "ask", body))
        answer: dict[str, Any] = {}
        for name, data in self._events("POST", "ask", body):
            if name == "token":
                on_token(data["text"])
            elif name == "error":
                raise errors.reported_error(data)
            else:
                answer = data
        return answer

    def search(self, text: str, **restrictions: Any) -> ServiceReply:
        """Search as `DragGraph.search`."""
        return ServiceReply(self._document("POST", "search", {"text": text, **restrictions, **self._settings(SEARCH)}))

    def audit(self, answer: str, *, local: bool) -> Any:
        """Trace as `DragGraph.audit`. Ids of inputs are looked up here, next to the service."""
        if not _ANSWER_ID.fullmatch(answer):
            with self._opened() as graph:
                return graph.audit(answer, local=local)
        self.refuse(local=local)
        return ServiceReply(self._document("GET", f"answers/{answer}/audit"))

    def distill(
        self, questions: "Questions", *, on_progress: "OnProgress", batch: bool, leave: bool, **ways: bool
    ) -> JobReport:
        """Distill as `DragGraph.distill`, in a job. The service reads a file of questions itself."""
        from drag_graph.app.questions import question_lines, source_of

        settings = {**ways, **self._settings(DISTILL, batch=batch, leave=leave)}
        if isinstance(questions, Path):
            with _as_file(questions) as file:
                question_lines(file, self.settings)  # raises the error of an unusable file
                job = None if file == questions else source_of(questions)
                path = self._submitted("distill", {"file": str(file.resolve()), "job": job, **settings})
            return self._report(path, on_progress)
        asked = [line.query for line in question_lines(questions, self.settings) if line.query]
        texts = [_given({"question": query.text, "options": query.options or None}) for query in asked]
        # Readers may list jobs: the name of the job, by which its runs share a budget, does not tell the question.
        text_hash = hashlib.sha256(source_of(questions).encode()).hexdigest()[:16]
        return self._job("distill", {"questions": texts, "job": f"-q {text_hash}", **settings}, on_progress)

    def estimate_distill(self, questions: "Questions", **ways: bool) -> Any:
        """Estimate as `DragGraph.estimate_distill`, next to the service."""
        with self._opened() as graph:
            return graph.estimate_distill(questions, **ways)

    def ingest(
        self,
        paths: Sequence[Path] = (),
        *,
        triples: Path | None,
        tags: Sequence[str] | None,
        compact: bool,
        on_progress: "OnProgress",
        **more: Any,
    ) -> JobReport:
        """Ingest as `DragGraph.ingest`, in a job. The service reads the files itself."""
        from drag_graph.documents.document_files import roots_of

        body = {**more, **self._settings(INGEST), "paths": roots_of(paths), "tags": tags, "compact": compact}
        body["triples"] = triples and triples.resolve()
        return self._job("ingest", urlencode(_given(body), doseq=True), on_progress)

    def estimate_ingest(self, **documents: Any) -> Any:
        """Estimate as `DragGraph.estimate_ingest`, next to the service."""
        with self._opened() as graph:
            return graph.estimate_ingest(**documents)

    def refuse(self, possible: Sequence[str] = (), **arguments: Any) -> None:
        """Raise ConfigurationError if an argument, or a setting that is not in `possible`, is on the command line."""
        from .options import flag_of

        given = {name: name not in possible for name in self._given} | arguments
        if refused := [flag_of(name) for name, value in given.items() if value]:
            hint = "Leave it out, or add --no-service to open the store directly."
            raise errors.ConfigurationError(f"The running service does not support {', '.join(refused)}.", hint=hint)

    def _settings(self, possible: Sequence[str], **arguments: Any) -> dict[str, Any]:
        self.refuse(possible, **arguments)
        return self._given

    @contextmanager
    def _opened(self) -> "Iterator[DragGraph]":
        """Open the store next to the service, to read it."""
        from drag_graph.app.application import DragGraph

        with DragGraph(settings=self.settings) as graph:
            yield graph

    def _job(self, kind: str, body: Any, on_progress: "OnProgress") -> JobReport:
        return self._report(self._submitted(kind, body), on_progress)

    def _submitted(self, kind: str, body: Any) -> str:
        """Submit a job and return its path."""
        return f"jobs/{self._document('POST', f'jobs/{kind}', body)['id']}"

    def _report(self, path: str, on_progress: "OnProgress") -> JobReport:
        """Return the report of a job when it has ended. The first Ctrl-C cancels it.

        Raises the error of a job without a report.
        """
        from drag_graph.concurrency.interruption import interrupted, on_ctrl_c
        from drag_graph.jobs.runner import RunProgress

        job: dict[str, Any] = {}

        def cancel() -> None:
            self._document("POST", f"{path}/cancel")

        with on_ctrl_c(cancel):
            for name, job in self._events("GET", f"{path}/events"):
                if name == "progress" and job["state"] == "queued":
                    on_progress(RunProgress(0, waiting_for="other jobs of the service"))
                elif name == "progress" and job["progress"]:
                    on_progress(RunProgress(**job["progress"]))
        if not job.get("finished_at"):
            raise errors.Interrupted("The service is stopping.", hint="The job continues when it starts again.")
        stopped = errors.reported_error(job) if job["error"] else interrupted() if job["state"] == "cancelled" else None
        try:
            return JobReport(self._document("GET", f"{path}/result"), stopped)
        except errors.ConfigurationError:  # it has no report
            raise stopped or interrupted() from None

    def _document(self, method: str, path: str, body: Any = None) -> Any:
        with self._reply(method, path, body) as reply:
            return json.loads(reply.read())

    def _events(self, method: str, path: str, body: Any = None) -> Iterator[tuple[str, Any]]:
        """Yield name and data of each event."""
        with self._reply(method, path, body, accept=EVENT_STREAM) as reply:
            name = ""
            for line in reply:
                key, _, value = line.decode().rstrip("\n").partition(": ")
                if key == "event":
                    name = value
                elif key == "data":
                    yield name, json.loads(value)

    @contextmanager
    def _reply(self, method: str, path: str, body: Any, *, accept: str = "application/json") -> Iterator[HTTPResponse]:
        """Send a request and yield the reply. Raises the error that the service reports, StoreUnavailable if it is gone."""
        headers: dict[str, Any] = {"Authorization": f"Bearer {self._service.token}", "Accept": accept}
        headers["X-Namespace"] = self.settings.namespace.encode()
        is_form = isinstance(body, str)
        headers["Content-Type"] = "application/x-www-form-urlencoded" if is_form else "application/json"
        content = body if is_form or body is None else json.dumps(_given(body))
        connection = HTTPConnection(self._service.host, timeout=PATIENCE)
        try:
            connection.request(method, f"/api/v1/{quote(path)}", content, headers)
            reply = connection.getresponse()
            if reply.status >= HTTPStatus.BAD_REQUEST:
                raise errors.reported_error(json.loads(reply.read()))
            yield reply
        except (OSError, HTTPException, ValueError) as error:
            message = f"The service at {self._service.address} no longer responds."
            raise errors.StoreUnavailable(message, hint="Run the command again.") from error
        finally:
            connection.close()


@contextmanager
def _as_file(questions: Path) -> Iterator[Path]:
    """Yield a file that the service can read: `questions`, or a copy of piped input that is removed after the block."""
    if not (questions == STANDARD or questions.is_fifo() or questions.is_char_device()):
        yield questions
        return
    opened = nullcontext(sys.stdin.buffer) if questions == STANDARD else questions.open("rb")
    with opened as pipe, tempfile.TemporaryDirectory(prefix="drag-graph-") as folder:
        file = Path(folder) / "questions.jsonl"
        with file.open("wb") as copy:
            shutil.copyfileobj(pipe, copy)
        yield file


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}
