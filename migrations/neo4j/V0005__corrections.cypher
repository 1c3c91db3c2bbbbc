// What a person says of a claim or an answer, by the id of that (docs/corrections.md). A claim has no node of its own: its id is a
// hash, so it outlives the triples and edges that are made again. `text`, `subject`, `object` and `predicate_key` say what it was.
CREATE CONSTRAINT correction_id IF NOT EXISTS FOR (n:Correction) REQUIRE n.id IS UNIQUE;
CREATE INDEX correction_namespace IF NOT EXISTS FOR (n:Correction) ON (n.namespace, n.id);
