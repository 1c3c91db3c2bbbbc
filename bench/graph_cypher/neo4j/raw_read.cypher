// what: the raw read shape: one query with its evidence, multigraph, simple edges, entities and calls, all properties that the
//     product reads, in one row, by relationship index
// parameters: namespace, source_ids
// returns: one row a query: query, calls, evidence, entities, triples, edges
UNWIND $source_ids AS id
MATCH (q:Query {id: id})
RETURN
  [q.id, q.text, q.options, q.domain, q.complexity, q.input_id, q.metadata, q.settings_hash, q.status, q.graph, q.blind,
   q.embedding, q.created_at, q.expires_at, q.aggregation] AS query,
  COLLECT {
    MATCH (c:TeacherCall {namespace: $namespace, source_id: q.id})
    RETURN [c.id, c.stage, c.model, c.prompt_version, c.request_sha256, c.response_sha256, c.tokens_in, c.tokens_out,
      c.cost_usd, c.latency_ms, c.created_at, c.follows]
  } AS calls,
  COLLECT {
    MATCH (q)-[:HAS_EVIDENCE]->(e:Evidence)-[:GENERATED_BY]->(c:TeacherCall)
    RETURN [e.id, e.text, e.framing, e.position, e.cosine, e.llm_score, e.score, e.rank, e.kept, e.reason, e.created_at,
      e.chunk_id, e.start, e.end, c.id]
  } AS evidence,
  COLLECT {
    MATCH (q)-[:MENTIONS]->(n:Entity)
    RETURN [n.id, n.name, n.type, n.variants]
  } AS entities,
  COLLECT {
    MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->(o)
    USING INDEX SEEK t:TRIPLE(namespace, source_id)
    RETURN [t.id, t.predicate, t.predicate_key, t.confidence, t.evidence_id, t.call_ids, t.rank, t.opposes, s.id, s.name,
      o.id, o.name]
  } AS triples,
  COLLECT {
    MATCH (s)-[r:RELATED {namespace: $namespace, source_id: q.id}]->(o)
    USING INDEX SEEK r:RELATED(namespace, source_id)
    RETURN [r.id, r.statement, r.predicates, r.confidence, r.support, r.triple_ids, r.evidence_ids, r.contradicts, r.rank, s.id,
      s.name, o.id, o.name]
  } AS edges
