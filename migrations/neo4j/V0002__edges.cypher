// What a cloud knows of its edges (docs/edges.md): who they are, and the summaries that they sent up.
CREATE CONSTRAINT edge_id IF NOT EXISTS FOR (n:Edge) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT summary_id IF NOT EXISTS FOR (n:Summary) REQUIRE n.id IS UNIQUE;
CREATE INDEX edge_namespace IF NOT EXISTS FOR (n:Edge) ON (n.namespace, n.id);
CREATE INDEX summary_namespace IF NOT EXISTS FOR (n:Summary) ON (n.namespace, n.id);
// Not quantised: summaries are few, and a missed neighbour asks the wrong edge.
CREATE VECTOR INDEX summary_embedding IF NOT EXISTS FOR (n:Summary) ON (n.embedding)
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}};
