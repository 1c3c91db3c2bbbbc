// One id, one node; one id, one edge. An id is a hash that begins with the namespace, so each of these is per namespace.
// A source is a query or a document: both have the second label Source.
CREATE CONSTRAINT source_id IF NOT EXISTS FOR (n:Source) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT query_id IF NOT EXISTS FOR (n:Query) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT document_id IF NOT EXISTS FOR (n:Document) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT chunk_id IF NOT EXISTS FOR (n:Chunk) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT evidence_id IF NOT EXISTS FOR (n:Evidence) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (n:Entity) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT teacher_call_id IF NOT EXISTS FOR (n:TeacherCall) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT concept_id IF NOT EXISTS FOR (n:Concept) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT answer_id IF NOT EXISTS FOR (n:Answer) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT triple_id IF NOT EXISTS FOR ()-[r:TRIPLE]-() REQUIRE r.id IS UNIQUE;
CREATE CONSTRAINT related_id IF NOT EXISTS FOR ()-[r:RELATED]-() REQUIRE r.id IS UNIQUE;
CREATE CONSTRAINT same_as_id IF NOT EXISTS FOR ()-[r:SAME_AS]-() REQUIRE r.id IS UNIQUE;
CREATE CONSTRAINT migration_version IF NOT EXISTS FOR (n:Migration) REQUIRE n.version IS UNIQUE;
CREATE CONSTRAINT store_info_key IF NOT EXISTS FOR (n:StoreInfo) REQUIRE n.key IS UNIQUE;

// Listings of a namespace, in their order.
CREATE INDEX source_namespace IF NOT EXISTS FOR (n:Source) ON (n.namespace, n.id);
CREATE INDEX query_namespace IF NOT EXISTS FOR (n:Query) ON (n.namespace, n.id);
CREATE INDEX document_namespace IF NOT EXISTS FOR (n:Document) ON (n.namespace, n.id);
CREATE INDEX answer_namespace IF NOT EXISTS FOR (n:Answer) ON (n.namespace, n.id);
CREATE INDEX answer_created_at IF NOT EXISTS FOR (n:Answer) ON (n.namespace, n.created_at);

// All that hangs on one source.
CREATE INDEX chunk_source_id IF NOT EXISTS FOR (n:Chunk) ON (n.namespace, n.source_id);
CREATE INDEX evidence_source_id IF NOT EXISTS FOR (n:Evidence) ON (n.namespace, n.source_id);
CREATE INDEX entity_source_id IF NOT EXISTS FOR (n:Entity) ON (n.namespace, n.source_id);
CREATE INDEX teacher_call_source_id IF NOT EXISTS FOR (n:TeacherCall) ON (n.namespace, n.source_id);
CREATE INDEX triple_source_id IF NOT EXISTS FOR ()-[r:TRIPLE]-() ON (r.namespace, r.source_id);
CREATE INDEX related_source_id IF NOT EXISTS FOR ()-[r:RELATED]-() ON (r.namespace, r.source_id);

// A concept is one normal name; SAME_AS says that two are one thing, and `cluster` is what the standing SAME_AS relationships make
// of it: the id of the concept that stands for all, or nothing while the concept waits for `link` (docs/adr/0015, 0023). What waits
// is found by the first two indexes, and all concepts are gone through by the third.
CREATE INDEX source_linked IF NOT EXISTS FOR (n:Source) ON (n.namespace, n.linked);
CREATE INDEX concept_cluster IF NOT EXISTS FOR (n:Concept) ON (n.namespace, n.cluster);
CREATE INDEX concept_namespace IF NOT EXISTS FOR (n:Concept) ON (n.namespace, n.id);

// Nearest queries, evidence and concepts. No dimension is named: namespaces may have different embedders, and a vector is compared
// only with those of its own length. Vectors of queries and concepts are not quantised: they are few, and a missed neighbour is a
// wrong answer.
CREATE VECTOR INDEX query_embedding IF NOT EXISTS FOR (n:Query) ON (n.embedding)
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}};
CREATE VECTOR INDEX evidence_embedding IF NOT EXISTS FOR (n:Evidence) ON (n.embedding)
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine'}};
CREATE VECTOR INDEX concept_embedding IF NOT EXISTS FOR (n:Concept) ON (n.embedding)
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}};

// What a cloud knows of its edges (docs/edges.md): who they are, and the summaries that they sent up.
CREATE CONSTRAINT edge_id IF NOT EXISTS FOR (n:Edge) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT summary_id IF NOT EXISTS FOR (n:Summary) REQUIRE n.id IS UNIQUE;
CREATE INDEX edge_namespace IF NOT EXISTS FOR (n:Edge) ON (n.namespace, n.id);
CREATE INDEX summary_namespace IF NOT EXISTS FOR (n:Summary) ON (n.namespace, n.id);
// Not quantised: summaries are few, and a missed neighbour asks the wrong edge.
CREATE VECTOR INDEX summary_embedding IF NOT EXISTS FOR (n:Summary) ON (n.embedding)
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}};

// Parts of the whole graph, and what they are about (docs/communities.md). All of a namespace are gone through in the order of
// their ids.
CREATE CONSTRAINT community_id IF NOT EXISTS FOR (n:Community) REQUIRE n.id IS UNIQUE;
CREATE INDEX community_namespace IF NOT EXISTS FOR (n:Community) ON (n.namespace, n.id);
CREATE VECTOR INDEX community_embedding IF NOT EXISTS FOR (n:Community) ON (n.embedding)
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}};
