// what: makes sources with all that hangs on them; where another writer was faster with one, the uniqueness of its id makes
//     this fail. Each subgraph is a list: the source's properties as a map, its id, calls, evidence, entities, triples, chunks, its
//     label (null: it is there, and bare; its answers stay linked to it), and which evidence is of which call, and of which chunk.
//     Items are lists in the order of drag_graph/stores/neo4j/neo4j_rows.py; chunks and evidence end with their search terms. What is
//     of what is said by positions, so that no relationship needs a look-up: a triple ends with those of its subject and object
// parameters: namespace, subgraphs
// returns: nothing
UNWIND $subgraphs AS g
CALL (g) {
  WITH g
  WHERE g[7] = 'Query'
  CREATE (q:Source:Query)
  RETURN q
  UNION ALL
  WITH g
  WHERE g[7] = 'Document'
  CREATE (q:Source:Document)
  RETURN q
  UNION ALL
  WITH g
  WHERE g[7] IS NULL
  MATCH (q:Source {id: g[1]})
  USING INDEX SEEK q:Source(id)
  RETURN q
}
SET q = g[0]
WITH q, g
CALL (q, g) {
  UNWIND g[6] AS c
  CREATE (q)-[:HAS_CHUNK {namespace: $namespace}]->(chunk:Chunk {
    id: c[0], source_id: g[1], namespace: $namespace, position: c[1], start: c[2], end: c[3], text: c[4],
    page: c[5], heading: c[6], terms: c[7]
  })
  RETURN collect(chunk) AS chunks
}
CALL (g) {
  UNWIND g[2] AS c
  CREATE (call:TeacherCall {
    id: c[0], source_id: g[1], namespace: $namespace, stage: c[1], model: c[2], prompt_version: c[3], request_sha256: c[4],
    response_sha256: c[5], tokens_in: c[6], tokens_out: c[7], cost_usd: c[8], latency_ms: c[9], created_at: c[10],
    follows: c[11]
  })
  RETURN collect(call) AS calls
}
CALL (q, g) {
  UNWIND g[3] AS e
  CREATE (q)-[:HAS_EVIDENCE {namespace: $namespace}]->(evidence:Evidence {
    id: e[0], source_id: g[1], namespace: $namespace, text: e[1], framing: e[2], position: e[3], cosine: e[4], llm_score: e[5],
    score: e[6], rank: e[7], kept: e[8], reason: e[9], created_at: e[10], chunk_id: e[11], start: e[12], end: e[13],
    terms: e[14]
  })
  RETURN collect(evidence) AS evidence
}
CALL (g, evidence, calls) {
  UNWIND g[8] AS places
  WITH evidence[places[0]] AS statement, calls[places[1]] AS call
  CREATE (statement)-[:GENERATED_BY {namespace: $namespace}]->(call)
}
CALL (g, evidence, chunks) {
  UNWIND g[9] AS places
  WITH evidence[places[0]] AS statement, chunks[places[1]] AS chunk
  CREATE (statement)-[:FROM_CHUNK {namespace: $namespace}]->(chunk)
}
CALL (q, g) {
  UNWIND g[4] AS n
  CREATE (q)-[:MENTIONS {namespace: $namespace}]->(entity:Entity {
    id: n[0], source_id: g[1], namespace: $namespace, name: n[1], type: n[2], variants: n[3]
  })
  RETURN collect(entity) AS entities
}
CALL (g, entities) {
  UNWIND g[5] AS t
  WITH g, t, entities[t[8]] AS subject, entities[t[9]] AS object
  CREATE (subject)-[:TRIPLE {
    id: t[0], source_id: g[1], namespace: $namespace, predicate: t[1], predicate_key: t[2], confidence: t[3], evidence_id: t[4],
    call_ids: t[5], rank: t[6], opposes: t[7]
  }]->(object)
}
