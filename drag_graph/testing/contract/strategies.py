"""Random multigraphs and aggregation settings for hypothesis."""

import itertools

from hypothesis import strategies as st

from drag_graph.model import Aggregation, Subgraph
from drag_graph.testing.builders import HOSTILE_NAMES, Spec, make_subgraph

THRESHOLDS = (0.0, 0.35, 0.5, 0.7, 0.875, 1.0)
"""Without 0.9: nine sources of 0.9 make 1 - 1e-9, which no engine can tell from the edge of the tolerance."""
PREDICATES = (
    "is a",
    "is_a",
    "Is A",
    "causes",
    "does not cause",
    "prevents",
    "increases the risk of",
    "}) DETACH DELETE n //",
    "`x` $y 'z' \"w\"",
    "führt zu",
)
MAX_TRIPLES = 14

_numbers = itertools.count()

confidences = st.one_of(
    st.sampled_from((0.0, 1.0, *THRESHOLDS)), st.integers(min_value=0, max_value=500).map(lambda number: number / 500)
)

# No surrogates (no encoding has them) and no NUL (no text: engines in C end a string there).
texts = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool)
)
names = st.one_of(texts, st.sampled_from(HOSTILE_NAMES), st.sampled_from(("cell", "water", "heat", "4 M euros", "5 M euros")))


@st.composite
def subgraphs(draw: st.DrawFn, namespace: str) -> Subgraph:
    """Draw a subgraph of a query of its own: parallel edges, cycles and both directions; never an edge to itself."""
    nodes = draw(st.lists(names, min_size=2, max_size=4, unique=True))
    evidence = draw(st.integers(min_value=1, max_value=4))
    dropped_indexes = draw(st.sets(st.integers(min_value=0, max_value=evidence - 1)))
    ends = st.permutations(nodes).map(lambda order: order[:2])
    count = draw(st.integers(min_value=0, max_value=MAX_TRIPLES))
    triples: list[Spec] = []
    for _ in range(count):
        subject, object_ = draw(ends)
        position = draw(st.integers(min_value=0, max_value=evidence - 1))
        triples.append((subject, draw(st.sampled_from(PREDICATES)), object_, draw(confidences), position))
    ranks = draw(st.permutations(range(count)))
    teachers = draw(st.one_of(st.none(), st.lists(st.integers(0, 2), min_size=count, max_size=count)))
    return make_subgraph(
        f"random {next(_numbers)}",
        namespace=namespace,
        triples=triples,
        evidence=evidence,
        dropped=dropped_indexes,
        ranks=ranks,
        teachers=teachers,
    )


def aggregations() -> st.SearchStrategy[Aggregation]:
    """Draw settings of every strategy and merge, with thresholds that some confidences hit exactly."""
    return st.builds(
        Aggregation,
        strategy=st.sampled_from(("pair", "whole-pair", "predicate")),
        merge=st.sampled_from(("max", "mean", "noisy-or")),
        threshold=st.sampled_from(THRESHOLDS),
        top_k=st.one_of(st.just(100), st.integers(min_value=1, max_value=4)),
    )
