"""A cloud of a test, served as `drag-graph cloud serve` does it."""

from contextlib import closing, contextmanager

from drag_graph.app import DragGraph
from drag_graph.service.keys import KeyRing
from drag_graph.service.limits import Limits
from drag_graph.service.server import ServicePlace, served
from drag_graph.settings import Settings


def settings_in(folder):
    """Return the settings of the service in a folder."""
    return Settings(store=str(folder / "service.lbug"), embedder="lexical", privacy="off")


@contextmanager
def serving_sites(cloud, folder, **place):
    """Serve the sites of a cloud, and lend the address."""
    with (
        DragGraph(settings=settings_in(folder)) as graph,
        closing(KeyRing(graph.settings.service_records_path)) as ring,
        served(graph, ServicePlace(**{"port": 0, **place}), Limits(), ring, cloud) as running,
    ):
        yield running.address
