// what: the raw write shape: one statement, nested lists, CREATE, endpoints by position; the properties are those of the product.
//     A query is a list: id, text, options, domain, complexity, input_id, metadata, settings_hash, status, graph, blind, embedding,
//     created_at, expires_at, sizes, call_ids, calls, evidence, entities, triples, revision
// parameters: namespace, queries
// returns: nothing
UNWIND $queries AS q
CREATE (n:Source:Query {
  id: q[0], namespace: $namespace, text: q[1], options: q[2], domain: q[3], complexity: q[4], input_id: q[5], metadata: q[6],
  settings_hash: q[7], status: q[8], graph: q[9], blind: q[10], embedding: q[11], created_at: q[12], expires_at: q[13],
  sizes: q[14], call_ids: q[15], revision: q[20],
  aggregation: 'pair max 0.7 15', linked: false
})
WITH q, n
CALL (q) {
  UNWIND q[16] AS c
  CREATE (call:TeacherCall {
    id: c[0], source_id: q[0], namespace: $namespace, stage: c[1], model: c[2], prompt_version: c[3], request_sha256: c[4],
    response_sha256: c[5], tokens_in: c[6], tokens_out: c[7], cost_usd: c[8], latency_ms: c[9], created_at: c[10],
    follows: c[11]
  })
  RETURN collect(call) AS calls
}
CALL (q, n, calls) {
  UNWIND q[17] AS e
  WITH q, n, e, calls[e[14]] AS call
  CREATE (n)-[:HAS_EVIDENCE {namespace: $namespace}]->(:Evidence {
    id: e[0], source_id: q[0], namespace: $namespace, text: e[1], framing: e[2], position: e[3], cosine: e[4], llm_score: e[5],
    score: e[6], rank: e[7], kept: e[8], reason: e[9], created_at: e[10], chunk_id: e[11], start: e[12], end: e[13]
  })-[:GENERATED_BY {namespace: $namespace}]->(call)
}
CALL (q, n) {
  UNWIND q[18] AS x
  CREATE (n)-[:MENTIONS {namespace: $namespace}]->(entity:Entity {
    id: x[0], source_id: q[0], namespace: $namespace, name: x[1], type: x[2], variants: x[3]
  })
  RETURN collect(entity) AS es
}
CALL (q, es) {
  UNWIND q[19] AS t
  WITH q, t, es[t[8]] AS s, es[t[9]] AS o
  CREATE (s)-[:TRIPLE {
    id: t[0], source_id: q[0], namespace: $namespace, predicate: t[1], predicate_key: t[2], confidence: t[3], evidence_id: t[4],
    call_ids: t[5], rank: t[6], opposes: t[7]
  }]->(o)
}
