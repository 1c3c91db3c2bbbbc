"""Run a service until it is stopped: what `serve` and `cloud serve` share."""

from typing import Any

from . import options, render
from .output import AS_JSON, document


def run(graph: "options.Graph", place: tuple[Any, ...], limits: dict[str, Any], *, is_cloud: bool = False) -> None:
    """Serve until Ctrl-C or SIGTERM. `place` and `limits` are the values of `ServicePlace` and `Limits`."""
    from contextlib import closing, nullcontext
    from queue import SimpleQueue

    from drag_graph import log
    from drag_graph.compose.site_setup import require_service_packages
    from drag_graph.concurrency.interruption import on_end, taken

    require_service_packages()
    from drag_graph.service.keys import KeyRing
    from drag_graph.service.limits import Limits
    from drag_graph.service.server import ServicePlace, served

    log.configure("info", as_json=True)
    ended = SimpleQueue[None]()
    with (
        closing(KeyRing(graph.settings.service_records_path)) as ring,
        on_end(lambda: ended.put(None)),
        graph.cloud.opened() if is_cloud else nullcontext() as cloud,
        served(graph, ServicePlace(*place), Limits(**limits), ring, cloud) as running,
    ):
        needs_key = is_cloud or not ring.is_empty()
        if AS_JSON.get():
            document({"address": running.address, "store": graph.settings.store, "needs_key": needs_key})
        else:
            what = "sites" if is_cloud else graph.settings.store
            render.write(f"Serving {what} at {running.address}. Stop with Ctrl-C.")
            if not needs_key:
                render.write("No key is required, so every program on this machine can use it.")
        taken(ended)
