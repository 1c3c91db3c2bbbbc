"""Sites and their summaries in the store in memory."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from drag_graph.ports.site_registry import RegisteredSite, SharedSummary, SummaryHit, summary_id


@dataclass
class Sites:
    """The sites of a namespace, and their summaries by site and key."""

    known: dict[str, RegisteredSite] = field(default_factory=dict)
    summaries: dict[str, dict[str, SharedSummary]] = field(default_factory=dict)


class _HasSites(Protocol):
    sites: Sites


class DictRegistry:
    """The `SiteRegistry` port over dictionaries; the port documents the methods."""

    def __init__(self, namespace: str, content: Callable[[], AbstractContextManager[_HasSites]]) -> None:
        self._namespace = namespace
        self._content = content

    def sites(self, site_ids: Collection[str] | None = None) -> list[RegisteredSite]:
        with self._content() as content:
            counted = [
                replace(site, summaries=len(content.sites.summaries[id_]))
                for id_, site in content.sites.known.items()
                if site_ids is None or id_ in site_ids
            ]
        return sorted(counted, key=lambda site: site.name)

    def register(self, site: RegisteredSite) -> bool:
        with self._content() as content:
            if site.id in content.sites.known:
                return False
            content.sites.known[site.id], content.sites.summaries[site.id] = site, {}
            return True

    def touch(self, site_id: str, seen_at: str, *, refused: int = 0) -> None:
        with self._content() as content:
            if site := content.sites.known.get(site_id):
                content.sites.known[site_id] = replace(site, seen_at=seen_at, refused=site.refused + refused)

    def withdraw(self, site_id: str) -> bool:
        with self._content() as content:
            content.sites.summaries.pop(site_id, None)
            return content.sites.known.pop(site_id, None) is not None

    def sync(self, site_id: str, hashes: Mapping[str, str]) -> tuple[list[str], int]:
        with self._content() as content:
            stored = content.sites.summaries.get(site_id, {})
            surplus = stored.keys() - hashes.keys()
            for key in surplus:
                del stored[key]
            missing = sorted(key for key, hash_ in hashes.items() if key not in stored or stored[key].hash != hash_)
            return missing, len(surplus)

    def upload(self, site_id: str, summaries: Sequence[SharedSummary]) -> bool:
        with self._content() as content:
            if site_id not in content.sites.known:
                return False
            content.sites.summaries[site_id] |= {item.key: item for item in summaries}
            return True

    def nearest(self, vector: Sequence[float], k: int, *, without: str = "") -> list[SummaryHit]:
        with self._content() as content:
            named = {id_: site.name for id_, site in content.sites.known.items()}
            every = [(id_, item) for id_, items in content.sites.summaries.items() for item in items.values()]
        hits = [
            (
                summary_id(self._namespace, id_, item.key),
                SummaryHit(id_, named[id_], item.key, item.text, _cosine(item, vector)),
            )
            for id_, item in every
            if id_ != without and any(vector) and any(item.embedding) and len(item.embedding) == len(vector)
        ]
        hits.sort(key=lambda pair: (-pair[1].score, pair[0]))
        return [hit for _, hit in hits[: max(0, k)]]


def _cosine(item: SharedSummary, vector: Sequence[float]) -> float:
    one, other = np.asarray(item.embedding), np.asarray(vector)
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
