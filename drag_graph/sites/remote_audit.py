"""The audit goes on at the edges that lines are from: what they say now is behind them (docs/edges.md)."""

from typing import Any

from drag_graph.errors import CloudError
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.wire import EdgeReply, GivenLine


def ask_edges(audit: dict[str, Any], client: CloudClient) -> None:
    """Fill in, under `origin`, what is behind each line of an audit document that another edge has released.

    Where the cloud cannot be asked, or an edge says nothing, `origin` says why.
    """
    there = lines_elsewhere(audit)
    given = [
        GivenLine(
            edge=line["elsewhere"]["edge"],
            receipt=line["elsewhere"]["receipt"],
            source_id=line["source_id"],
            kind=line["kind"],
            ref=line["ref"],
        )
        for line in there
    ]
    try:
        origins = client.audit(given)
    except CloudError as error:
        origins = [EdgeReply(problem=str(error))] * len(there)
    for line, origin in zip(there, origins, strict=True):
        line["elsewhere"]["origin"] = origin.model_dump(mode="json")


def lines_elsewhere(audit: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of an audit document that other edges have released."""
    return [line for line in audit["lines"] if "elsewhere" in line]
