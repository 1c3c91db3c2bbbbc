// what: reads whole subgraphs; the items of the lists are in the order of drag_graph/stores/neo4j/neo4j_rows.py. What another
//     transaction commits shows while this one reads, so the revision is read before the parts and after them: by a
//     name that the planner does not know, as it would give what it has read before. The head itself can be half of one
//     transaction and half of another; head_sha256 and the end of the revision repeat what it must be
// parameters: namespace, source_ids
// returns: one row a source that is stored: head (a map), calls, chunks, evidence, entities, triples, edges, stamp, revision
UNWIND $source_ids AS id
MATCH (q:Source {id: id})
USING INDEX SEEK q:Source(id)
WHERE q.namespace = $namespace
WITH q, [q.revision, q.sizes, q.call_ids, q.head_sha256] AS stamp, 'revision' AS again
WITH q, stamp, again,
  q {.id, .text, .options, .domain, .complexity, .input_id, .metadata, .name, .uri, .sha256, .media_type, .modified_at, .date, .tags,
    .settings_hash, .status, .graph, .blind, .embedding, .created_at, .expires_at, .aggregation} AS head,
  COLLECT {
    MATCH (c:TeacherCall {namespace: $namespace, source_id: q.id})
    USING INDEX SEEK c:TeacherCall(namespace, source_id)
    RETURN [c.id, c.stage, c.model, c.prompt_version, c.request_sha256, c.response_sha256, c.tokens_in, c.tokens_out,
      c.cost_usd, c.latency_ms, c.created_at, c.follows]
  } AS calls,
  COLLECT {
    MATCH (q)-[:HAS_CHUNK]->(c:Chunk)
    RETURN [c.id, c.position, c.start, c.end, c.text, c.page, coalesce(c.heading, [])]
  } AS chunks,
  COLLECT {
    MATCH (q)-[:HAS_EVIDENCE]->(e:Evidence)
    RETURN [e.id, e.text, e.framing, e.position, e.cosine, e.llm_score, e.score, e.rank, e.kept, e.reason, e.created_at,
      e.chunk_id, e.start, e.end, [(e)-[:GENERATED_BY]->(c:TeacherCall) | c.id]]
  } AS evidence,
  COLLECT {
    MATCH (q)-[:MENTIONS]->(n:Entity)
    RETURN [n.id, n.name, n.type, n.variants]
  } AS entities,
  COLLECT {
    MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->(o)
    USING INDEX SEEK t:TRIPLE(namespace, source_id)
    RETURN [t.id, t.predicate, t.predicate_key, t.confidence, t.evidence_id, t.call_ids, t.rank, t.opposes, s.id, s.name, o.id, o.name]
  } AS triples,
  COLLECT {
    MATCH (s)-[r:RELATED {namespace: $namespace, source_id: q.id}]->(o)
    USING INDEX SEEK r:RELATED(namespace, source_id)
    RETURN [r.id, r.statement, r.predicates, r.confidence, r.support, r.triple_ids, r.evidence_ids, r.contradicts, r.rank, s.id, s.name, o.id,
      o.name]
  } AS edges
RETURN head, calls, chunks, evidence, entities, triples, edges, stamp, q[again] AS revision
