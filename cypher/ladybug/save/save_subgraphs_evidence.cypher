// what: writes evidence from maps of its properties, and links its source to it
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (q:Source {id: r.source_id})
CREATE (q)-[:HAS_EVIDENCE {namespace: $namespace}]->(:Evidence {
  namespace: $namespace, source_id: r.source_id, id: r.id, text: r.text, framing: r.framing, position: r.position,
  cosine: r.cosine, llm_score: r.llm_score, score: r.score, rank: r.rank, kept: r.kept, reason: r.reason,
  chunk_id: r.chunk_id, start: r.start, `end`: r.`end`, created_at: r.created_at
})
