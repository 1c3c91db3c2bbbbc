// what: walks from queries, evidence and clusters of concepts to the simple edges that they lead to (docs/adr/0017), and reads
//     these with their triples, evidence and calls; every part of the walk has a limit, so a hub costs no more than another. A
//     cluster that is open (empty) is the concept alone
// parameters: namespace, queries ([id, score]), evidence ([id, score, query id]), clusters ([id, score]), hops, entities, edges,
//     near, frontier, beyond, far, adjacent
// returns: one row a query that something was reached in: head, calls, chunks, evidence (with the passages adjacent
//     to those given), triples, edges (all as in read_subgraphs), ways (of each edge: lists of [hop, seed])
CALL () {
  UNWIND $queries AS seed
  MATCH (:Entity)-[r:RELATED {namespace: $namespace, source_id: seed[0]}]->(:Entity)
  USING INDEX SEEK r:RELATED(namespace, source_id)
  RETURN r, 0 AS hop, seed
UNION ALL
  UNWIND $evidence AS seed
  MATCH (:Entity)-[r:RELATED {namespace: $namespace, source_id: seed[2]}]->(:Entity)
  USING INDEX SEEK r:RELATED(namespace, source_id)
  WHERE seed[0] IN r.evidence_ids
  RETURN r, 1 AS hop, seed
UNION ALL
  UNWIND $clusters AS seed
  CALL (seed) {
    CALL (seed) {
      MATCH (c:Concept {namespace: $namespace, cluster: seed[0]})
      USING INDEX SEEK c:Concept(namespace, cluster)
      RETURN c
    UNION
      MATCH (c:Concept {id: seed[0]})
      USING INDEX SEEK c:Concept(id)
      WHERE c.namespace = $namespace
      RETURN c
    }
    MATCH (c)<-[:REFERS_TO]-(n:Entity)
    WITH n LIMIT $entities
    MATCH (n)-[r:RELATED]-(:Entity)
    WITH DISTINCT r
    ORDER BY r.confidence DESC, r.id
    LIMIT $edges
    RETURN r
  }
  WITH r, seed
  ORDER BY seed[1] * r.confidence DESC, r.id, seed[0]
  LIMIT $near
  RETURN r, 1 AS hop, seed
}
WITH collect([r, hop, seed[0], seed[1]]) AS near
CALL (near) {
  UNWIND CASE WHEN $hops > 1 THEN near ELSE [] END AS way
  WITH way, way[0] AS r
  UNWIND [startNode(r), endNode(r)] AS n
  WITH n, way, way[3] * r.confidence AS strength
  ORDER BY strength DESC, r.id
  WITH n, head(collect(way)) AS way, max(strength) AS strength
  ORDER BY strength DESC, n.id
  LIMIT $frontier
  CALL (n) {
    MATCH (n)-[r:RELATED]-(:Entity)
    RETURN r
  UNION
    MATCH (n)-[:REFERS_TO]->(:Concept)<-[:REFERS_TO]-(m:Entity)
    WITH m LIMIT $beyond
    MATCH (m)-[r:RELATED]-(:Entity)
    RETURN r
  UNION
    MATCH (n)-[:REFERS_TO]->(c:Concept)
    WHERE c.cluster <> ''
    MATCH (d:Concept {namespace: $namespace, cluster: c.cluster})
    USING INDEX SEEK d:Concept(namespace, cluster)
    MATCH (d)<-[:REFERS_TO]-(m:Entity)
    WITH m LIMIT $beyond
    MATCH (m)-[r:RELATED]-(:Entity)
    RETURN r
  }
  WITH DISTINCT r, way[1] + 1 AS hop, way[2] AS seed, strength
  WHERE NOT any(other IN near WHERE other[0] = r)
  WITH r, hop, seed, strength
  ORDER BY strength * r.confidence DESC, r.id
  LIMIT $far
  RETURN collect([r, hop, seed]) AS beyond
}
CALL (near, beyond) {
  UNWIND near + beyond AS way
  WITH way[0] AS r, collect(DISTINCT [way[1], way[2]]) AS ways
  WITH r.source_id AS id, collect(r) AS related, collect(ways) AS ways
  RETURN collect([id, related, ways]) AS groups
}
CALL (groups) {
  UNWIND [seed IN $queries | [seed[0], [], []]] + [seed IN $evidence | [seed[2], [], []]] + groups AS part
  WITH part[0] AS id, part ORDER BY size(part[1])
  WITH id, last(collect(part)) AS part
  RETURN id, part[1] AS related, part[2] AS ways
}
MATCH (q:Source {id: id})
USING INDEX SEEK q:Source(id)
WHERE q.namespace = $namespace
WITH q, related, ways, any(seed IN $queries WHERE seed[0] = q.id) AS whole,
  [seed IN $evidence WHERE seed[2] = q.id | seed[0]] AS told
WITH q, related, ways, whole, told, reduce(ids = told, r IN related | ids + r.evidence_ids) AS evidence_ids,
  reduce(ids = [], r IN related | ids + r.triple_ids) AS triple_ids
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
    UNWIND CASE WHEN q:Document THEN evidence_ids ELSE [] END AS id
    MATCH (e:Evidence {id: id})-[:FROM_CHUNK]->(c:Chunk)
    USING INDEX SEEK e:Evidence(id)
    RETURN DISTINCT [c.id, c.position, c.start, c.end, c.text, c.page, coalesce(c.heading, [])]
  } AS chunks,
  COLLECT {
    CALL (q, whole, told, evidence_ids) {
      UNWIND CASE WHEN whole THEN [q] ELSE [] END AS all_of
      MATCH (all_of)-[:HAS_EVIDENCE]->(e:Evidence)
      RETURN e
    UNION
      UNWIND CASE WHEN whole THEN [] ELSE evidence_ids END AS id
      MATCH (e:Evidence {id: id})
      USING INDEX SEEK e:Evidence(id)
      WHERE e.namespace = $namespace
      RETURN e
    UNION
      UNWIND CASE WHEN q:Document THEN told ELSE [] END AS id
      MATCH (one:Evidence {id: id})-[:FROM_CHUNK]->(:Chunk)<-[:FROM_CHUNK]-(e:Evidence)
      USING INDEX SEEK one:Evidence(id)
      WHERE one.namespace = $namespace AND e <> one AND abs(e.position - one.position) <= $adjacent
      RETURN e
    }
    RETURN [e.id, e.text, e.framing, e.position, e.cosine, e.llm_score, e.score, e.rank, e.kept, e.reason, e.created_at,
      e.chunk_id, e.start, e.end, [(e)-[:GENERATED_BY]->(c:TeacherCall) | c.id]]
  } AS evidence,
  COLLECT {
    CALL (q, whole, triple_ids) {
      UNWIND CASE WHEN whole AND q.graph = 'multigraph' THEN [q.id] ELSE [] END AS id
      MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: id}]->(o)
      USING INDEX SEEK t:TRIPLE(namespace, source_id)
      RETURN s, t, o
    UNION ALL
      UNWIND CASE WHEN whole AND q.graph = 'multigraph' THEN [] ELSE triple_ids END AS id
      MATCH (s)-[t:TRIPLE {id: id}]->(o)
      USING INDEX SEEK t:TRIPLE(id)
      RETURN s, t, o
    }
    RETURN [t.id, t.predicate, t.predicate_key, t.confidence, t.evidence_id, t.call_ids, t.rank, t.opposes, s.id, s.name, o.id, o.name]
  } AS triples,
  [r IN related | [r.id, r.statement, r.predicates, r.confidence, r.support, r.triple_ids, r.evidence_ids, r.contradicts, r.rank,
    startNode(r).id,
    startNode(r).name, endNode(r).id, endNode(r).name]] AS edges,
  ways
