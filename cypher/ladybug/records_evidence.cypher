// what: reads all nodes Evidence of the namespace
// parameters: namespace
// returns: one row a node: its properties and call_ids
MATCH (n:Evidence)
WHERE n.namespace = $namespace
OPTIONAL MATCH (n)-[:GENERATED_BY]->(c:TeacherCall)
RETURN
  n.id AS id, n.namespace AS namespace, n.source_id AS source_id, n.text AS text, n.framing AS framing,
  n.position AS position, n.cosine AS cosine, n.llm_score AS llm_score, n.score AS score, n.rank AS rank,
  n.kept AS kept, n.reason AS reason, n.created_at AS created_at, n.chunk_id AS chunk_id, n.start AS start,
  n.`end` AS `end`, collect(c.id) AS call_ids
