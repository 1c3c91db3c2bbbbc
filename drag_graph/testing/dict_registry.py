"""Sites and their summaries in the store in memory."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from drag_graph.ports.site_registry import RegisteredSite, SharedSummary, SiteChanges, SummaryHit, summary_id


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
            listed_sites = [
                replace(site, summaries=len(content.sites.summaries[id_]))
                for id_, site in content.sites.known.items()
                if site_ids is None or id_ in site_ids
            ]
        return sorted(listed_sites, key=lambda site: site.name)

    def hashes(self, site_id: str) -> dict[str, str]:
        with self._content() as content:
            return {key: item.hash for key, item in content.sites.summaries.get(site_id, {}).items()}

    def write(self, changes: SiteChanges) -> bool:
        with self._content() as content:
            sites_by_id, id_ = content.sites.known, changes.site_id
            if new := changes.registered:
                if sites_by_id.setdefault(id_, new).token_sha256 != new.token_sha256:
                    return False
                content.sites.summaries.setdefault(id_, {})
            if id_ not in sites_by_id:
                return not (changes.dropped or changes.summaries)
            if changes.seen_at:
                refused = sites_by_id[id_].refused + changes.refused
                sites_by_id[id_] = replace(sites_by_id[id_], seen_at=changes.seen_at, refused=refused)
            for key in changes.dropped:
                content.sites.summaries[id_].pop(key, None)
            content.sites.summaries[id_] |= {item.key: item for item in changes.summaries}
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
