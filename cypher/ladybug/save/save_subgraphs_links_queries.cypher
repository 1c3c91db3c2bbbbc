// what: links a query to what hangs on it
// parameters: namespace, source_id, evidence_ids, entity_ids
// returns: one row a kind of link: number
MATCH (q:Query {id: $source_id})
UNWIND $evidence_ids AS id
MATCH (e:Evidence {id: id})
CREATE (q)-[:HAS_EVIDENCE {namespace: $namespace}]->(e)
RETURN count(*) AS number
UNION ALL
MATCH (q:Query {id: $source_id})
UNWIND $entity_ids AS id
MATCH (n:Entity {id: id})
CREATE (q)-[:MENTIONS {namespace: $namespace}]->(n)
RETURN count(*) AS number
