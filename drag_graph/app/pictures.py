"""Pictures of sources, answers and neighbourhoods."""

from collections.abc import Iterable, Sequence

from drag_graph.app.resource_user import ResourceUser
from drag_graph.compose.model_factories import asked_as
from drag_graph.manage.short_ids import stored_subgraph
from drag_graph.manage.source_listing import newest_sources
from drag_graph.model import Answer, Subgraph
from drag_graph.report.audit_document import stored_answer
from drag_graph.report.graph_picture import GraphPicture, picture_of

FACTS_AROUND, SOURCES_AROUND = 30, 10
"""Maximum number of triples per entity, and of sources, of which a picture shows neighbours."""


class Pictures(ResourceUser):
    """Draw what is stored."""

    def picture(
        self, source_ids: Sequence[str] = (), *, answer_id: str = "", around: Sequence[str] = (), limit: int = 5
    ) -> GraphPicture:
        """Return a picture of sources, of what an answer rests on, or of the edges around entities.

        Without any of these, it shows the `limit` newest sources. Source and answer ids may be shortened; `around` are ids of
        concepts or entities, as pictures have them.
        """
        with self._resources.store() as store:
            if answer_id:
                answer = stored_answer(store, answer_id)
                graphs = store.read(sorted({line.source_id for line in answer.lines if not line.site}))
                return picture_of(store, answer.question, graphs, _behind(answer, graphs))
            if around:
                facts = store.search.around(around, FACTS_AROUND)
                pairs = {(fact.subject_id, fact.object_id) for fact in facts}
                graphs = store.read(list(dict.fromkeys(fact.source_id for fact in facts))[:SOURCES_AROUND])
                edges = (edge for graph in graphs for edge in graph.usable_edges)
                return picture_of(store, "Neighbours", graphs, {e.id for e in edges if (e.subject_id, e.object_id) in pairs})
            if not source_ids:
                graphs = newest_sources(store, limit, 0)[0]
                return picture_of(store, "The newest sources", graphs)
            names = (asked_as(self._resources.settings, source_id) for source_id in source_ids)
            graphs = [stored_subgraph(store, *one, kind="source") for one in zip(source_ids, names, strict=True)]
            return picture_of(store, graphs[0].title if len(graphs) == 1 else f"{len(graphs)} sources", graphs)


def _behind(answer: Answer, graphs: Iterable[Subgraph]) -> set[str]:
    """Return the ids of the edges that an answer was shown, or whose evidence it was shown."""
    seen = {id_ for line in answer.lines for id_ in (line.ref, *line.evidence_ids)}
    edges = (edge for graph in graphs for edge in graph.usable_edges)
    return {edge.id for edge in edges if edge.id in seen or not seen.isdisjoint(edge.evidence_ids)}
