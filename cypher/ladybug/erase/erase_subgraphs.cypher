// what: erases the evidence, entities and chunks of a source, and so all triples and simple edges
// parameters: namespace, source_id
// returns: one row a label: label, number (how many went)
MATCH (q:Source {id: $source_id})-[:HAS_EVIDENCE|MENTIONS|HAS_CHUNK]->(n)
WHERE q.namespace = $namespace
DETACH DELETE n
RETURN label(n) AS label, count(*) AS number
