// what: the kept evidence of a query that no answer was shown
// parameters: source_id
// returns: one row an evidence, by id: id, text
MATCH (q:Query {id: $source_id})-[:HAS_EVIDENCE]->(e:Evidence)
WHERE e.kept AND NOT EXISTS { MATCH (:Answer)-[:USED]->(e) }
RETURN e.id AS id, coalesce(e.text, '') AS text
ORDER BY id
