// what: reads the parts of subgraphs with this evidence and with what is between these pairs of entities: the simple edges and their
//     triples, or all triples where the graph is the raw one; each triple with its evidence
// parameters: namespace, evidence_ids, pairs (of the ids of a subject and an object)
// returns: one row a source of these: head, calls, chunks, evidence, triples, edges (all as in read_subgraphs)
CALL () {
  UNWIND $evidence_ids AS id
  MATCH (e:Evidence {id: id})
  USING INDEX SEEK e:Evidence(id)
  WHERE e.namespace = $namespace
  RETURN e.source_id AS id, e.id AS evidence_id, null AS r, null AS t
UNION ALL
  UNWIND $pairs AS pair
  MATCH (s:Entity {id: pair[0]})
  USING INDEX SEEK s:Entity(id)
  WHERE s.namespace = $namespace
  MATCH (o:Entity {id: pair[1]})
  USING INDEX SEEK o:Entity(id)
  CALL (s, o) {
    MATCH (s)-[r:RELATED]->(o)
    RETURN r, null AS t
  UNION ALL
    MATCH (s)-[t:TRIPLE]->(o)
    RETURN null AS r, t
  }
  RETURN s.source_id AS id, t.evidence_id AS evidence_id, r, t
}
WITH id, collect(DISTINCT evidence_id) AS evidence_ids, collect(DISTINCT r) AS related, collect(DISTINCT t) AS triples
MATCH (q:Source {id: id})
USING INDEX SEEK q:Source(id)
WHERE q.namespace = $namespace
RETURN
  q {.id, .text, .options, .domain, .complexity, .input_id, .metadata, .name, .uri, .sha256, .media_type, .modified_at, .date, .tags,
    .settings_hash, .status, .graph, .blind, embedding: null, .created_at, .expires_at, .aggregation} AS head,
  COLLECT {
    MATCH (c:TeacherCall {namespace: $namespace, source_id: q.id})
    USING INDEX SEEK c:TeacherCall(namespace, source_id)
    RETURN [c.id, c.stage, c.model, c.prompt_version, c.request_sha256, c.response_sha256, c.tokens_in, c.tokens_out,
      c.cost_usd, c.latency_ms, c.created_at, c.follows]
  } AS calls,
  COLLECT {
    UNWIND evidence_ids AS evidence_id
    MATCH (e:Evidence {id: evidence_id})-[:FROM_CHUNK]->(c:Chunk)
    USING INDEX SEEK e:Evidence(id)
    RETURN DISTINCT [c.id, c.position, c.start, c.end, c.text, c.page, coalesce(c.heading, [])]
  } AS chunks,
  COLLECT {
    UNWIND evidence_ids AS evidence_id
    MATCH (e:Evidence {id: evidence_id})
    USING INDEX SEEK e:Evidence(id)
    RETURN [e.id, e.text, e.framing, e.position, e.cosine, e.llm_score, e.score, e.rank, e.kept, e.reason, e.created_at,
      e.chunk_id, e.start, e.end, [(e)-[:GENERATED_BY]->(c:TeacherCall) | c.id]]
  } AS evidence,
  [t IN triples | [t.id, t.predicate, t.predicate_key, t.confidence, t.evidence_id, t.call_ids, t.rank, t.opposes,
    startNode(t).id, startNode(t).name, endNode(t).id, endNode(t).name]] AS triples,
  [r IN related | [r.id, r.statement, r.predicates, r.confidence, r.support, r.triple_ids, r.evidence_ids, r.contradicts, r.rank,
    startNode(r).id, startNode(r).name, endNode(r).id, endNode(r).name]] AS edges
