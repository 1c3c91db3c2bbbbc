"""Match a new partition with the stored communities: ids follow the majority of the members."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count

from drag_graph.communities.leiden import GraphPart
from drag_graph.identity import content_id
from drag_graph.ports.community_store import Community, CommunityChanges


def ids_of(parts: Sequence[GraphPart], stored: Iterable[Community], namespace: str) -> list[str]:
    """Return the id of each part.

    A part inherits the id of a stored community if it contains more than half of its entities. If several qualify, the one with
    most entities in the part wins, then the smallest id. Any other part gets the hash of its entities.
    """
    sizes: dict[str, int] = {}
    community_of: dict[str, str] = {}
    for item in stored:
        sizes[item.id] = len(item.entities)
        community_of.update(dict.fromkeys(item.entities, item.id))
    inherited: list[str | None] = []
    for part in parts:
        shared = Counter(community_of[entity] for entity in part.entities if entity in community_of)
        most = [id_ for id_, number in shared.items() if 2 * number > sizes[id_]]
        inherited.append(min(most, key=lambda id_: (-shared[id_], id_), default=None))
    used = {id_ for id_ in inherited if id_ is not None}
    return [id_ or _fresh(part, used, namespace) for id_, part in zip(inherited, parts, strict=True)]


def _fresh(part: GraphPart, used: set[str], namespace: str) -> str:
    """Return an unused id: another part may have inherited the id that belongs to these members."""
    entities = sorted(part.entities)
    ids = (content_id(namespace, "community", *entities, *([str(n)] if n else [])) for n in count())
    id_ = next(id_ for id_ in ids if id_ not in used)
    used.add(id_)
    return id_


def changes_of(wanted: Sequence[Community], stored: Sequence[Community]) -> CommunityChanges:
    """Return the changes that turn the stored communities into the wanted ones."""
    before = {item.id: item for item in stored}
    was_in = {entity: item.id for item in stored for entity in item.entities}
    is_in = {entity: item.id for item in wanted for entity in item.entities}
    return CommunityChanges(
        communities=[item for item in wanted if item.id not in before or _counts(item) != _counts(before[item.id])],
        left=sorted(entity for entity, id_ in was_in.items() if is_in.get(entity) != id_),
        joined=sorted((entity, id_) for entity, id_ in is_in.items() if was_in.get(entity) != id_),
        gone=sorted(before.keys() - {item.id for item in wanted}),
    )


def _counts(item: Community) -> tuple[str, int, int, int]:
    return item.member_hash, item.things, item.edges, item.sources
