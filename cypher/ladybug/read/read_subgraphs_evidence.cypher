// what: reads the evidence of a query
// parameters: source_id
// returns: one row an evidence and call that made it (null: none), in no order: its properties and call_id
MATCH (:Query {id: $source_id})-[:HAS_EVIDENCE]->(e:Evidence)
OPTIONAL MATCH (e)-[:GENERATED_BY]->(c:TeacherCall)
RETURN
  e.id AS id, e.text AS text, e.framing AS framing, e.position AS position, e.cosine AS cosine,
  e.llm_score AS llm_score, e.score AS score, e.rank AS rank, e.kept AS kept, e.reason AS reason,
  e.created_at AS created_at, e.chunk_id AS chunk_id, e.start AS start, e.`end` AS `end`, c.id AS call_id
