"""Methods that connect sources: link and its merges, communities."""

from dataclasses import dataclass
from typing import Any

from drag_graph.app.resources import ResourceUser
from drag_graph.app.run_handle import RunHandle
from drag_graph.compose.document_setup import make_communities
from drag_graph.concurrency.interruption import Interruption
from drag_graph.errors import ConfigurationError, NotStored
from drag_graph.graph.name_forms import concept_id, concept_key, same_as_id
from drag_graph.jobs.community_job import CommunityReport
from drag_graph.jobs.link_job import LinkReport
from drag_graph.jobs.runner import OnProgress, ProgressMeter, RunProgress
from drag_graph.link.same_as import pair
from drag_graph.manage.graph_statistics import Group
from drag_graph.ports.community_store import Community
from drag_graph.ports.concept_store import SameAs
from drag_graph.ports.graph_store import GraphStore
from drag_graph.report.graph_picture import GraphPicture, groups_picture

_FIELDS = ("id", "name", "level", "things", "edges", "sources", "summary", "summariser", "member_hash")


@dataclass(frozen=True)
class MergeList:
    """Merges: judgements that two concepts are the same thing."""

    merges: tuple[SameAs, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `link --show --json` prints."""
        return {"merges": [merge.to_dict() for merge in self.merges]}


@dataclass(frozen=True)
class Communities:
    """Stored communities, the largest first, and the report of the run that wrote them, if any."""

    communities: tuple[Community, ...]
    report: CommunityReport | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `communities --json` prints."""
        totals = self.report.totals() if self.report else {"communities": len(self.communities)}
        return {"communities": [{name: getattr(item, name) for name in _FIELDS} for item in self.communities], "totals": totals}


class Linking(ResourceUser):
    """Join the concepts of all sources, and find communities."""

    def link(self, *, on_progress: OnProgress | None = None, wait: bool = True, **settings: Any) -> RunHandle[LinkReport]:
        """Join what the stored sources have in common: concepts by name, alias and embedding, and vectors of evidence.

        New sources are linked; if nothing is new, nothing changes. Call it again to resume a run that was stopped.
        """
        resources, report = self._resources.changed(settings), on_progress or (lambda _progress: None)

        def run(interruption: Interruption) -> LinkReport:
            def advance(step: str, done: int) -> None:
                report(RunProgress(done, waiting_for=f"{done} {step}"))

            with resources.writing(create=False) as session:
                return session.linker(advance, interruption).run()

        return RunHandle(run, resources, wait=wait)

    def merges(self, text: str = "", *, limit: int = 100) -> MergeList:
        """List the concepts that were judged to be the same thing, only those with `text` in a name if it is given."""
        with self._resources.store() as store:
            return MergeList(tuple(store.concepts.same_as(text=text, limit=limit)))

    def merge(self, one: str, other: str) -> MergeList:
        """Judge two names to be the same thing, as `link` does; no later run changes that. Both must be linked."""
        with self._resources.writing(create=False) as session:
            namespace, concepts = session.store.namespace, session.store.concepts
            ids = pair(*(concept_id(namespace, concept_key(name)) for name in (one, other)))
            if ids[0] == ids[1] or len(concepts.read(ids)) < len(ids):
                hint = "Use two different names of entities. Run `drag-graph link` first."
                raise NotStored(f"{one!r} and {other!r} are not two linked names.", hint=hint)
            merge = SameAs(same_as_id(namespace, *ids), *ids, "person", 1.0)
            session.linker().make(merge)
            return MergeList((_merge(session.store, merge.id),))

    def undo_merge(self, merge_id: str) -> MergeList:
        """Undo a merge, given its id or the beginning of its id. `link` does not make it again."""
        return self._set_merge(merge_id, undone=True)

    def redo_merge(self, merge_id: str) -> MergeList:
        """Restore a merge that was undone."""
        return self._set_merge(merge_id, undone=False)

    def _set_merge(self, merge_id: str, *, undone: bool) -> MergeList:
        with self._resources.writing(create=False) as session:
            merge, linker = _merge(session.store, merge_id), session.linker()
            if bool(merge.undone_at) != undone:
                (linker.undo if undone else linker.redo)(merge)
            return MergeList((_merge(session.store, merge.id),))

    def communities(
        self, *, on_progress: OnProgress | None = None, wait: bool = True, **settings: Any
    ) -> RunHandle[CommunityReport]:
        """Find the communities of the whole graph, and summarise each of them by rules or with the summariser.

        Communities that did not change keep their id and summary. Call it again to resume a run that was stopped.
        """
        resources = self._resources.changed(settings)

        def run(interruption: Interruption) -> CommunityReport:
            with resources.writing(role="summariser", create=False) as session:
                return make_communities(session, interruption=interruption).run(ProgressMeter(None, on_progress).count)

        return RunHandle(run, resources, wait=wait)

    def stored_communities(self, report: CommunityReport | None = None) -> Communities:
        """List the stored communities, the largest first. `report` is that of the run that wrote them, if its totals count."""
        with self._resources.store() as store:
            return Communities(_by_size(store), report)

    def community_picture(self, *, limit: int = 20) -> GraphPicture:
        """Return a picture of the largest communities."""
        with self._resources.store() as store:
            thing_of: dict[str, str] = {}
            for edge in store.linked_edges():
                thing_of |= {edge.source_entity: edge.source, edge.target_entity: edge.target}
            groups = [
                Group(tuple(sorted({thing_of[one] for one in item.entities if one in thing_of})), item.edges, item.name)
                for item in _by_size(store)[:limit]
            ]
            title = f"Communities of {store.location}"
            return groups_picture(title, [group for group in groups if group.members], store.linked_edges())


def _merge(store: GraphStore, prefix: str) -> SameAs:
    merges = store.concepts.same_as(prefix=prefix.strip().lower(), limit=2)
    if not merges:
        raise NotStored(f"There is no merge {prefix!r}.", hint="`drag-graph link --show` lists them.")
    if len(merges) > 1:
        raise ConfigurationError(f"Several merges begin with {prefix!r}.", hint="Add more digits of the id.")
    return merges[0]


def _by_size(store: GraphStore) -> tuple[Community, ...]:
    return tuple(sorted(store.communities.read(), key=lambda item: (-item.things, item.id)))
