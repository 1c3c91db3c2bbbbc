"""`graph.privacy`: the privacy gate."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drag_graph.app.questions import Questions, question_lines
from drag_graph.app.resources import ResourceUser
from drag_graph.compose.model_factories import asked_as, make_reworder, opened_vault
from drag_graph.compose.store_opening import open_ledger
from drag_graph.errors import ConfigurationError
from drag_graph.inputs import InputLine
from drag_graph.manage.short_ids import full_id
from drag_graph.models.model_choice import is_here
from drag_graph.ports.setting_types import ModelSpec, Privacy, Role
from drag_graph.privacy.gate_reports import file_documents, preview, preview_totals, revealed, scan
from drag_graph.privacy.privacy_gate import preview_gate
from drag_graph.settings import Settings
from drag_graph.sites.traffic_log import Traffic


@dataclass(frozen=True, slots=True)
class PrivacyCheck:
    """What would be sent of each question. Contains the originals. It is true if the gate lets every question pass."""

    queries: tuple[Mapping[str, Any], ...]
    rejected: tuple[InputLine, ...] = ()

    def __bool__(self) -> bool:
        return not self.rejected and not any(entry["refused"] for entry in self.queries)

    @property
    def totals(self) -> dict[str, Any]:
        """Numbers of questions, changed, refused and rejected ones, and of findings by type."""
        return preview_totals(self.queries, len(self.rejected))

    def to_dict(self) -> dict[str, Any]:
        """Return the `privacy check --json` document."""
        return {"queries": [dict(entry) for entry in self.queries], "totals": self.totals}

    def to_html(self) -> str:
        """Return a web page that shows originals and outgoing texts side by side."""
        from drag_graph.report.privacy_views import privacy_page

        return privacy_page(self.to_dict())


@dataclass(frozen=True, slots=True)
class RevealedAnswer:
    """A stored answer with the names put back, once for each original question."""

    answer_id: str
    asked: str
    originals: tuple[Mapping[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the `privacy reveal --json` document."""
        return {"answer_id": self.answer_id, "asked": self.asked, "originals": [dict(one) for one in self.originals]}


@dataclass(frozen=True, slots=True)
class PrivacyScan:
    """Private details in stored texts: places and types, never the texts."""

    findings: tuple[Mapping[str, Any], ...]

    @property
    def totals(self) -> list[dict[str, Any]]:
        """Numbers of findings by place and type."""
        counts = Counter((item["place"], item["type"]) for item in self.findings)
        return [{"place": place, "type": kind, "number": number} for (place, kind), number in sorted(counts.items())]

    def to_dict(self) -> dict[str, Any]:
        """Return the `privacy scan --json` document."""
        return {"findings": [dict(item) for item in self.findings], "totals": self.totals}


@dataclass(frozen=True, slots=True)
class SentTraffic:
    """What models and the cloud have received, by day and destination, newest day first. Contains no texts.

    `stage` is the step of distilling or reading that made the call, or the kind of a request to the cloud. With the present
    settings, `uncounted` models on other machines receive texts that are not recorded.
    """

    days: tuple[Mapping[str, Any], ...]
    uncounted: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `GET /api/v1/privacy/sent`."""
        return {"days": [dict(day) for day in self.days], "uncounted": list(self.uncounted)}


class PrivacyGroup(ResourceUser):
    """Check what would leave this machine, list what has left it, and reveal what was replaced."""

    def check(self, questions: Questions, *, why: bool = False, **settings: Any) -> PrivacyCheck:
        """Show what would be sent of each question. Nothing is sent or stored.

        `settings` are for example `privacy` ("standard" unless set) and `rewriter`. With `why`, the entries also list what was
        recognised but kept. Raises MissingExtra without the privacy extra or a name model.
        """
        changed = self._resources.changed(settings).settings
        lines = list(question_lines(questions, changed))
        gate = preview_gate(_level(changed), make_reworder(changed))
        return PrivacyCheck(tuple(preview(gate, lines, why=why)), tuple(line for line in lines if line.query is None))

    def sent(self) -> SentTraffic:
        """Return the recorded calls of models, and the requests to the cloud, by day and destination.

        A call is `remote` if the present settings would send it to another machine. Covers all namespaces of the ledger.
        """
        settings = self._resources.settings
        days: list[dict[str, Any]] = []
        if settings.ledger_path.exists():
            with open_ledger(settings, read_only=True) as ledger:
                for day, model, stage, requests, tokens, cost in ledger.tape.totals_by_day():
                    what = {"day": day, "destination": model, "remote": _is_remote(settings, model), "stage": stage}
                    days.append({**what, "requests": requests, "tokens": tokens, "bytes": None, "cost_usd": round(cost, 6)})
        for row in Traffic(settings.traffic_path).rows():
            what = {"day": row.day, "destination": settings.cloud, "remote": True, "stage": row.kind}
            days.append({**what, "requests": row.requests, "tokens": None, "bytes": row.bytes_out, "cost_usd": 0.0})
        days.sort(key=lambda one: one["day"], reverse=True)
        asking: tuple[Role, ...] = ("student", "embedder", "reranker")
        models = [spec.name for spec in map(settings.model_for, asking) if not is_here(spec)]
        return SentTraffic(tuple(days), tuple(dict.fromkeys(models)))

    def reveal(self, answer_id: str) -> RevealedAnswer:
        """Put the names back into a stored answer and its question, from the vault on this machine.

        `answer_id` is an id, the beginning of an id, or the input's id of its question. Raises NotStored if there is none.
        """
        settings = self._resources.settings
        with self._resources.store() as store:
            whole_id = full_id(store, "answer", answer_id, asked_as=asked_as(settings, answer_id))
            (answer,) = store.answers(prefix=whole_id)
        with opened_vault(settings) as vault:
            return RevealedAnswer(answer.id, answer.question, tuple(revealed(answer, vault)))

    def scan(self, files: Iterable[Path] = (), **settings: Any) -> PrivacyScan:
        """Search the store, its ledger and exported files for what the gate would have replaced.

        Raises InputError for an unreadable file, and MissingExtra without the privacy extra or a name model.
        """
        changed = self._resources.changed(settings).settings
        return PrivacyScan(tuple(scan(preview_gate(_level(changed)), self._documents(changed, files))))

    def _documents(self, settings: Settings, files: Iterable[Path]) -> Iterator[tuple[str, str, Any]]:
        """Yield place, name and content of all that is stored, and of the lines of the files."""
        if settings.uses_neo4j or Path(settings.store).expanduser().exists():
            with self._resources.store() as store:
                for record in store.records(vectors=False):
                    yield "store", str(record.get("id", "")), record
        if settings.ledger_path.exists():
            with open_ledger(settings, read_only=True) as ledger:
                for name, row in ledger.rows():
                    yield "ledger", name, row
        for file in files:
            yield from file_documents(file)


def _is_remote(settings: Settings, model: str) -> bool:
    """Return whether calls of a model leave this machine, in its present role or else as a teacher."""
    roles: tuple[Role, ...] = ("teacher", "extractor", "summariser")
    specs = [spec for spec in map(settings.model_for, roles) if spec.name == model]
    return not all(map(is_here, specs or [ModelSpec("teacher", model)]))


def _level(settings: Settings) -> Privacy:
    if settings.privacy == "off":
        hint = "Choose `privacy=standard` or `privacy=strict`."
        raise ConfigurationError("The privacy level is 'off', so questions are sent unchanged.", hint=hint)
    return settings.privacy or "standard"
