"""`graph.sites`: this machine as a site of a cloud."""

import threading
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from drag_graph.app.questions import Questions, question_lines
from drag_graph.app.resources import ResourceUser
from drag_graph.app.run_handle import RunHandle
from drag_graph.concurrency.interruption import Interruption
from drag_graph.errors import CloudError, CloudUnavailable, ConfigurationError, InputError
from drag_graph.jobs.runner import OnProgress, ProgressMeter

if TYPE_CHECKING:
    from drag_graph.sites.calibration import Point
    from drag_graph.sites.traffic_log import TrafficRow

COUNTS = ("requests", "texts", "bytes_out", "bytes_in")


@dataclass(frozen=True, slots=True)
class SiteSetup:
    """A folder that has been set up as a site. `problem` is the reason if the cloud could not be reached."""

    cloud: str
    name: str
    release: str
    never_leave: tuple[str, ...]
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the `edge init --json` document."""
        return {
            "cloud": self.cloud,
            "name": self.name,
            "release": self.release,
            "reachable": not self.problem,
            "never_leave": list(self.never_leave),
        }


@dataclass(frozen=True, slots=True)
class SiteStatus(SiteSetup):
    """The state of a site. `problem` is the reason if the cloud does not answer or does not know the site."""

    last_sync: dict[str, Any] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """The exit code of the command line."""
        return CloudError.exit_code if self.problem else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the `edge status --json` document."""
        return SiteSetup.to_dict(self) | {"reachable": self.problem or "yes", "last_sync": self.last_sync or None}


@dataclass(frozen=True, slots=True)
class TrafficReport:
    """The traffic between a site and its cloud, by day and kind."""

    rows: "tuple[TrafficRow, ...]"

    def to_dict(self) -> dict[str, Any]:
        """Return the `edge traffic --json` document."""
        totals = {name: sum(getattr(row, name) for row in self.rows) for name in COUNTS}
        return {"days": [asdict(row) for row in self.rows], "totals": totals}


@dataclass(frozen=True, slots=True)
class Calibration:
    """The effect of every agreement threshold on `n` questions, and the chosen one."""

    n: int
    points: "tuple[Point, ...]"
    chosen: "Point"

    @property
    def agreement(self) -> float | None:
        """The value for the setting `agreement`; None if no threshold meets the target."""
        return self.chosen.threshold if self.chosen.local else None

    @property
    def exit_code(self) -> int:
        """The exit code of the command line."""
        return 1 if self.agreement is None else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the `edge calibrate --json` document."""
        return {"n": self.n, "agreement": self.agreement, "points": [asdict(point) for point in self.points]}


class SitesGroup(ResourceUser):
    """Set up and serve this machine as a site of a cloud. At a site, `ask` answers locally if it is sure."""

    def init(self, token: str = "", **settings: Any) -> SiteSetup:
        """Set up the working folder as a site: write these settings to `drag-graph.toml`, and the token to its own file.

        The settings are `cloud`, `edge_name` (the name of the site), `cloud_ca`, `insecure`, `release` and `never_leave`. The
        token is what `graph.cloud.add` returned, by default the setting `cloud_token`. If the cloud cannot be reached, the
        folder is set up all the same.

        Raises CloudRefused if the cloud does not know the site by this token, and then writes nothing.
        """
        from drag_graph.sites.site_folder import set_up_site

        applied = self._resources.changed(settings).settings
        token = (token or applied.cloud_token.get_secret_value()).strip()
        if not token:
            hint = "Pass it on stdin, or set DRAG_GRAPH_CLOUD_TOKEN. `drag-graph cloud edges add NAME` prints it."
            raise ConfigurationError("The token of the site is missing.", hint=hint)
        values = {name: getattr(applied, name) for name, value in settings.items() if value is not None}
        problem = ""
        try:
            set_up_site(applied, values, token)
        except CloudUnavailable as error:
            problem = str(error)
        return SiteSetup(applied.cloud, applied.edge_name, applied.release, applied.never_leave, problem)

    def serve(self, stop: threading.Event, **settings: Any) -> None:
        """Share summaries with the cloud and answer its questions. Blocks until another thread sets `stop`.

        What leaves passes the privacy gate, at level `standard` by default. If the cloud is not available, the site tries
        again.

        Raises CloudRefused if the cloud does not know the site, and StoreError if the store is unusable.
        """
        from drag_graph.compose.site_setup import make_cloud_client
        from drag_graph.sites.passage_release import Release
        from drag_graph.sites.site_service import Knowledge, SiteService

        resources = self._resources.changed(settings)
        resources = resources.changed({"privacy": resources.settings.privacy or "standard"})
        applied = resources.settings
        gate = resources.gate(applied)
        with make_cloud_client(applied, gate) as client:
            with resources.store() as store:
                embedder = resources.gated_embedder(store.embedder())
            knowledge = Knowledge(applied, resources.store, embedder)
            release = Release(applied.release, applied.never_leave, gate.generalised_passage if gate else None)
            SiteService(client, knowledge, release).run(stop)

    def status(self) -> SiteStatus:
        """Check if the cloud answers and knows this site, and return when summaries were last sent and what is released."""
        from drag_graph.compose.site_setup import make_cloud_client
        from drag_graph.sites.traffic_log import Traffic

        settings = self._resources.settings
        problem = ""
        try:
            with make_cloud_client(settings, None) as client:
                client.connect()
        except CloudError as error:
            problem = str(error)
        last_sync = Traffic(settings.traffic_path).last_sync()
        return SiteStatus(settings.cloud, settings.edge_name, settings.release, settings.never_leave, problem, last_sync)

    def traffic(self) -> TrafficReport:
        """Return the number of requests, texts and bytes between this site and its cloud, by day and kind."""
        from drag_graph.sites.site_folder import require_site
        from drag_graph.sites.traffic_log import Traffic

        require_site(self._resources.settings)
        return TrafficReport(tuple(Traffic(self._resources.settings.traffic_path).rows()))

    def calibrate(
        self,
        questions: Questions,
        *,
        cloud_rate: float | None = None,
        wrong_rate: float | None = None,
        on_progress: OnProgress | None = None,
        wait: bool = True,
        **settings: Any,
    ) -> RunHandle[Calibration]:
        """Find the agreement threshold for a rate of cloud calls or of wrong local answers, on questions with gold answers.

        Pass one of `cloud_rate` (upper limit on the fraction of questions sent to the cloud) and `wrong_rate` (acceptable error
        rate of local answers). Each question is answered several times (`candidates`); no answer is stored.
        """
        from drag_graph.compose.site_setup import judging_student
        from drag_graph.sites.calibration import curve, for_cloud_rate, for_wrong_rate, judge_questions

        if (cloud_rate is None) == (wrong_rate is None):
            hint = "See `drag-graph edge calibrate --help`."
            raise ConfigurationError("Pass exactly one of `cloud_rate=RATE` and `wrong_rate=RATE`.", hint=hint)
        resources = self._resources.changed(settings)
        lines = question_lines(questions, resources.settings)
        queries = [line.query for line in lines if line.query and line.query.gold is not None]
        if not queries:
            raise InputError("None of the questions has a gold answer.", hint='Add it under the key "answer".')

        def run(interruption: Interruption) -> Calibration:
            meter = ProgressMeter(len(queries), on_progress)

            def count() -> None:
                meter.count(0.0)
                interruption.check()

            with resources.reading(asks=True) as session:
                asker = session.asker(unkept="calibration")
                candidates, judging = session.settings.candidates, judging_student(session)
                points = curve(judge_questions(asker, queries, session.embedder, candidates, count, judging=judging))
            chosen = for_wrong_rate(points, wrong_rate) if wrong_rate is not None else for_cloud_rate(points, cloud_rate or 0.0)
            return Calibration(len(queries), tuple(points), chosen)

        return RunHandle(run, resources, wait=wait)
