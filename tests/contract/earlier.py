"""Embedded stores as versions before schema version 4 made them: compressed by the engine, which lost vectors."""

import random
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from drag_graph import migrate
from drag_graph.adapters import ladybug_files
from drag_graph.adapters.ladybug_store import LadybugStore
from drag_graph.concepts import Concept, Naming
from drag_graph.model import Aggregation
from drag_graph.testing.builders import make_answer, make_subgraph

VERSION = 3
DIMENSION = 1024
EMBEDDER = (f"lexical/1-{DIMENSION}", DIMENSION)
KEPT, LOST = range(20), range(20, 22)
"""Numbers of the queries of which the vectors were kept, and of those that came later."""
NAMESPACES = ("default", "other")
ODD = "a\nb\r\n\"q\" 'z' \\ \\n | , ; {} \u00e9\u6f22\U0001f600 \u00a0 "


def sparse(number):
    """Return a vector that is mostly zeros."""
    chance = random.Random(number)
    vector = [0.0] * DIMENSION
    for place in chance.sample(range(DIMENSION), 40):
        vector[place] = chance.uniform(-1.0, 1.0)
    return tuple(vector)


def graph(number, namespace):
    """Return the subgraph of that number, with its vector."""
    return make_subgraph(number, namespace=namespace, embedding=sparse(number))


@contextmanager
def earlier():
    """Be the version before: its migrations, and its way to make files."""
    known = migrate.known
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "known", lambda dialect, root=None: known(dialect, root)[:VERSION])
        patch.setattr(ladybug_files, "COMPRESSION", True)
        yield


def make(path):
    """Make a store of then, with lost vectors, and with what is rarely there or written badly."""
    with earlier():
        for numbers in (KEPT, LOST):
            for namespace in NAMESPACES:
                with LadybugStore(path, namespace=namespace) as store:
                    store.migrate()
                    _fill(store, numbers)
        with LadybugStore(path) as store, store.writing() as session:
            for text in ODDITIES:
                values = {"odd": ODD, "zeros": [0.0] * 5}
                session.execute(text, {name: value for name, value in values.items() if f"${name}" in text})


def _fill(store, numbers):
    store.claim_embedder(*EMBEDDER)
    graphs = [graph(number, store.namespace) for number in numbers]
    store.save(graphs, Aggregation())
    store.save_answers([make_answer(n, [item], namespace=store.namespace) for n, item in zip(numbers, graphs, strict=True)])
    evidence = [item.id for item in graphs for item in item.evidence]
    store.concepts.save_vectors("Evidence", evidence, np.asarray([sparse(number) for number in range(len(evidence))]))
    entities = [item for item in graphs for item in item.entities]
    concepts = [Concept(f"{store.namespace}-{numbers[0]}-{n}", item.name, item.name) for n, item in enumerate(entities)]
    store.concepts.link([Naming(concept, (item.id,)) for concept, item in zip(concepts, entities, strict=True)])
    ids = [concept.id for concept in concepts]
    store.concepts.save_vectors("Concept", ids, np.asarray([sparse(-number) for number in range(len(ids))]))


ODDITIES = (
    "CREATE (:Query {id: 'odd-1', namespace: 'odd', text: $odd, `options`: ['', NULL, $odd], complexity: 0.1, call_ids: []})",
    "CREATE (:Query {id: 'odd-2', namespace: 'odd', text: '', `options`: [], embedding: CAST([], 'DOUBLE[]')})",
    "CREATE (:Query {id: 'odd-3'})",
    "CREATE (:Query {id: 'odd-4', namespace: 'odd', text: '?!', embedding: $zeros, blind: true})",
    "CREATE (:Concept {id: 'odd-1', namespace: 'odd', name: '', cluster: 'odd-1', entities: 0})",
    "CREATE (:Concept {id: 'odd-2', namespace: 'odd', name: $odd, key: $odd, embedding: [0.1, -0.0, 5e-324, 1e308]})",
    "MATCH (a:Concept {id: 'odd-1'}), (b:Concept {id: 'odd-2'}) CREATE (a)-[:SAME_AS {id: 's', score: 0.1}]->(b)",
    "CREATE (:Evidence {id: 'odd-1', source_id: 'odd-1', text: $odd, position: 0, cosine: -0.0, kept: false})",
    "CREATE (:Chunk {id: 'odd-1', namespace: 'odd'})-[:PART_OF {namespace: 'odd'}]->(:Document {id: 'odd-1'})",
    "MATCH (e:Evidence {id: 'odd-1'}), (c:Chunk) CREATE (e)-[:FROM_CHUNK {namespace: 'odd'}]->(c)",
    "MATCH (q:Query {id: 'odd-1'}), (e:Evidence {id: 'odd-1'}) CREATE (q)-[:HAS_EVIDENCE]->(e), (q)-[:HAS_EVIDENCE]->(e)",
    "MATCH (a:Answer), (e:Evidence {id: 'odd-1'}) WITH a, e ORDER BY a.id LIMIT 1 CREATE (a)-[:USED {namespace: 'odd'}]->(e)",
)


def content(path):
    """Return all rows of all tables but the history, by table, and the columns of each: asked of the engine itself."""
    import ladybug

    with ladybug.Database(str(path), read_only=True) as database, ladybug.Connection(database, num_threads=1) as connection:
        tables = {name: kind for name, kind in rows(connection, "CALL show_tables() RETURN name, type") if name != "Migration"}
        found = {}
        for name, kind in tables.items():
            columns = rows(connection, f"CALL table_info('{name}') RETURN name, type")
            what = f"(n:{name}) RETURN n.*" if kind == "NODE" else f"(a)-[n:{name}]->(b) RETURN a.id, b.id, n.*"
            found[name] = columns, sorted(map(repr, rows(connection, f"MATCH {what}")))
        return found


def rows(connection, text):
    """Return the rows of a statement."""
    result = connection.execute(text)
    found = []
    while result.has_next():
        found.append(tuple(result.get_next()))
    return found


if __name__ == "__main__":
    make(Path(sys.argv[1]))
