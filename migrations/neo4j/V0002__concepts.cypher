// What is asked across queries (docs/adr/0015). A concept is one normal name; SAME_AS says that two are one thing, and `cluster` is
// what the standing SAME_AS relationships make of it: the id of the concept that stands for all.
CREATE CONSTRAINT same_as_id IF NOT EXISTS FOR ()-[r:SAME_AS]-() REQUIRE r.id IS UNIQUE;
CREATE INDEX concept_cluster IF NOT EXISTS FOR (n:Concept) ON (n.namespace, n.cluster);

// Nearest evidence and concepts. No dimension is named, as for the queries.
CREATE VECTOR INDEX evidence_embedding IF NOT EXISTS FOR (n:Evidence) ON (n.embedding)
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine'}};
CREATE VECTOR INDEX concept_embedding IF NOT EXISTS FOR (n:Concept) ON (n.embedding)
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}};
