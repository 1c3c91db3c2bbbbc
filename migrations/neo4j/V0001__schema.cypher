// One id, one node; one id, one edge. An id is a hash that begins with the namespace, so each of these is per namespace.
CREATE CONSTRAINT source_id IF NOT EXISTS FOR (n:Query) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT evidence_id IF NOT EXISTS FOR (n:Evidence) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (n:Entity) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT teacher_call_id IF NOT EXISTS FOR (n:TeacherCall) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT chunk_id IF NOT EXISTS FOR (n:Chunk) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT document_id IF NOT EXISTS FOR (n:Document) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT concept_id IF NOT EXISTS FOR (n:Concept) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT answer_id IF NOT EXISTS FOR (n:Answer) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT triple_id IF NOT EXISTS FOR ()-[r:TRIPLE]-() REQUIRE r.id IS UNIQUE;
CREATE CONSTRAINT related_id IF NOT EXISTS FOR ()-[r:RELATED]-() REQUIRE r.id IS UNIQUE;
CREATE CONSTRAINT migration_version IF NOT EXISTS FOR (n:Migration) REQUIRE n.version IS UNIQUE;
CREATE CONSTRAINT store_info_key IF NOT EXISTS FOR (n:StoreInfo) REQUIRE n.key IS UNIQUE;

// Listings of a namespace, in their order.
CREATE INDEX query_namespace IF NOT EXISTS FOR (n:Query) ON (n.namespace, n.id);
CREATE INDEX answer_namespace IF NOT EXISTS FOR (n:Answer) ON (n.namespace, n.id);
CREATE INDEX answer_created_at IF NOT EXISTS FOR (n:Answer) ON (n.namespace, n.created_at);

// All that hangs on one query.
CREATE INDEX evidence_query_id IF NOT EXISTS FOR (n:Evidence) ON (n.namespace, n.source_id);
CREATE INDEX entity_query_id IF NOT EXISTS FOR (n:Entity) ON (n.namespace, n.source_id);
CREATE INDEX teacher_call_query_id IF NOT EXISTS FOR (n:TeacherCall) ON (n.namespace, n.source_id);
CREATE INDEX triple_query_id IF NOT EXISTS FOR ()-[r:TRIPLE]-() ON (r.namespace, r.source_id);
CREATE INDEX related_query_id IF NOT EXISTS FOR ()-[r:RELATED]-() ON (r.namespace, r.source_id);

// Nearest queries. No dimension is named: namespaces may have different embedders, and a vector is compared only with those of
// its own length. Not quantised: the vectors of questions are few, and a missed neighbour is a wrong answer.
CREATE VECTOR INDEX query_embedding IF NOT EXISTS FOR (n:Query) ON (n.embedding)
OPTIONS {indexConfig: {`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}};
