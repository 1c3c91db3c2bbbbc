"""`communities --format html`: the largest groups as a picture that opens offline (ADR 5)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from drag_graph.manage.graph_statistics import Group
from drag_graph.report.graph_page import picture_page, require_viz

MOST = 400
"""Things in a picture; more of them are a ball of wool."""
_COLOURS = ("#4C8EDA", "#FFC454", "#DA7194", "#8DCC93", "#F79767", "#57C7E3", "#C990C0", "#D9C8AE", "#569480", "#604A0E")


def shown_groups(groups: Sequence[Group]) -> list[Group]:
    """Return the largest groups that fit into a picture together, at least one; a group that is too large is cut."""
    shown: list[Group] = []
    room = MOST
    for group in groups:
        if len(group.members) > room and shown:
            break
        shown.append(replace(group, members=group.members[:room]))
        room -= len(shown[-1].members)
    return shown


def groups_page(title: str, groups: Sequence[Group], edges: Iterable[tuple[str, str, float]], names: Mapping[str, str]) -> str:
    """Return a self-contained HTML page of these groups, each in its colour, with the simple edges between their members.

    Raises MissingExtra when neo4j-viz is not installed.
    """
    require_viz()
    from neo4j_viz import Node, Relationship

    group_of = {member: number for number, group in enumerate(groups) for member in group.members}
    nodes = [
        Node(
            id=thing,
            caption=names.get(thing, thing),
            size=18,
            color=_COLOURS[number % len(_COLOURS)],
            properties={"name": names.get(thing, thing), "group": groups[number].name or number + 1},
        )
        for thing, number in group_of.items()
    ]
    best: dict[tuple[str, str], float] = {}
    for source, target, confidence in edges:
        if source in group_of and target in group_of:
            best[source, target] = max(confidence, best.get((source, target), 0.0))
    links = [
        Relationship(source=source, target=target, properties={"confidence": round(confidence, 3)}, width=1 + 4 * confidence)
        for (source, target), confidence in sorted(best.items())
    ]
    return picture_page(title, nodes, links)
