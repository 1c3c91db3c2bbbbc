// what: the raw idempotent write: as raw_write, by MERGE on unique ids
// parameters: namespace, queries
// returns: nothing
UNWIND $queries AS q
MERGE (n:Source {id: q[0]})
ON CREATE SET
  n:Query,
  n.namespace = $namespace, n.text = q[1], n.options = q[2], n.domain = q[3], n.complexity = q[4], n.input_id = q[5],
  n.metadata = q[6], n.settings_hash = q[7], n.status = q[8], n.graph = q[9], n.blind = q[10], n.embedding = q[11],
  n.created_at = q[12], n.expires_at = q[13], n.sizes = q[14], n.call_ids = q[15], n.revision = q[20],
  n.aggregation = 'pair max 0.7 15', n.linked = false
WITH q, n
CALL (q) {
  UNWIND q[16] AS c
  MERGE (call:TeacherCall {id: c[0]})
  ON CREATE SET
    call.source_id = q[0], call.namespace = $namespace, call.stage = c[1], call.model = c[2], call.prompt_version = c[3],
    call.request_sha256 = c[4], call.response_sha256 = c[5], call.tokens_in = c[6], call.tokens_out = c[7],
    call.cost_usd = c[8], call.latency_ms = c[9], call.created_at = c[10],
    call.follows = c[11]
  RETURN collect(call) AS calls
}
CALL (q, n, calls) {
  UNWIND q[17] AS e
  WITH q, n, e, calls[e[14]] AS call
  MERGE (v:Evidence {id: e[0]})
  ON CREATE SET
    v.source_id = q[0], v.namespace = $namespace, v.text = e[1], v.framing = e[2], v.position = e[3], v.cosine = e[4],
    v.llm_score = e[5], v.score = e[6], v.rank = e[7], v.kept = e[8], v.reason = e[9], v.created_at = e[10],
    v.chunk_id = e[11], v.start = e[12], v.end = e[13]
  MERGE (n)-[h:HAS_EVIDENCE]->(v)
  ON CREATE SET h.namespace = $namespace
  MERGE (v)-[g:GENERATED_BY]->(call)
  ON CREATE SET g.namespace = $namespace
}
CALL (q, n) {
  UNWIND q[18] AS x
  MERGE (entity:Entity {id: x[0]})
  ON CREATE SET
    entity.source_id = q[0], entity.namespace = $namespace, entity.name = x[1], entity.type = x[2], entity.variants = x[3]
  MERGE (n)-[m:MENTIONS]->(entity)
  ON CREATE SET m.namespace = $namespace
  RETURN collect(entity) AS es
}
CALL (q, es) {
  UNWIND q[19] AS t
  WITH q, t, es[t[8]] AS s, es[t[9]] AS o
  MERGE (s)-[r:TRIPLE {id: t[0]}]->(o)
  ON CREATE SET
    r.source_id = q[0], r.namespace = $namespace, r.predicate = t[1], r.predicate_key = t[2], r.confidence = t[3],
    r.evidence_id = t[4], r.call_ids = t[5], r.rank = t[6], r.opposes = t[7]
}
