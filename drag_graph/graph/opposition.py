"""Which triples of one source contradict each other (no I/O)."""

from collections.abc import Iterable, Sequence

from drag_graph.graph.contradictions import contradicted
from drag_graph.graph.number_conflicts import conflicting_values
from drag_graph.graph.word_lists import word_list
from drag_graph.model import Triple

_REPEATABLE, _ONCE = word_list("repeatable"), word_list("once")


def with_opposition(triples: Iterable[Triple]) -> tuple[Triple, ...]:
    """Return the triples, each with what contradicts it (`Triple.opposes`): predicates of its pair, other numbers or dates."""
    items = tuple(triples)
    by_number = _other_numbers(items)
    keys: dict[tuple[str, str], set[str]] = {}
    for item in items:
        keys.setdefault((item.subject_id, item.object_id), set()).add(item.predicate_key)
    denied = {pair: contradicted(parallel) for pair, parallel in keys.items()}
    result = []
    for item in items:
        keys_of_pair = denied[item.subject_id, item.object_id].get(item.predicate_key, set())
        opposed = tuple(sorted(keys_of_pair | by_number.get((item.subject_id, item.claim), set())))
        result.append(item.model_copy(update={"opposes": opposed}) if opposed != item.opposes else item)
    return tuple(result)


def _other_numbers(triples: Sequence[Triple]) -> dict[tuple[str, str], set[str]]:
    """Return the claims, by subject and claim, with the same subject and predicate and an object of another number or date.

    What one evidence states together is a list ("won in 1998 and 2002"). Most events can repeat: only what happens once, or is
    due, has one date.
    """
    groups: dict[tuple[str, str], dict[str, set[str]]] = {}
    for item in triples:
        evidence = groups.setdefault((item.subject_id, item.predicate_key), {}).setdefault(item.object, set())
        evidence.add(item.evidence_id)
    rivals: dict[tuple[str, str], set[str]] = {}
    for (subject_id, key), objects in groups.items():
        words = set(key.split("_"))
        if len(objects) == 1 or words & _REPEATABLE:
            continue
        for one, two in conflicting_values(sorted(objects), dates=bool(words & _ONCE)):
            if not objects[one] & objects[two]:
                rivals.setdefault((subject_id, f"{key} {one}"), set()).add(f"{key} {two}")
                rivals.setdefault((subject_id, f"{key} {two}"), set()).add(f"{key} {one}")
    return rivals
