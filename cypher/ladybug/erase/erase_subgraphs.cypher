// what: erases the evidence of a query, with its links
// parameters: namespace, source_id
// returns: one row: number (how many went)
MATCH (q:Query|Document {id: $source_id})-[:HAS_EVIDENCE]->(n:Evidence)
WHERE q.namespace = $namespace
DETACH DELETE n
RETURN count(*) AS number
