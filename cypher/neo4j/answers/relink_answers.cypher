// what: links the answers to replaced queries to that evidence they were shown which is there again
// parameters: namespace, source_ids
// returns: nothing
UNWIND $source_ids AS source_id
MATCH (q:Source {id: source_id})<-[:ANSWERS]-(a:Answer)
USING INDEX SEEK q:Source(id)
UNWIND a.evidence_ids AS id
MATCH (e:Evidence {id: id})
USING INDEX SEEK e:Evidence(id)
WHERE e.namespace = $namespace AND e.source_id = source_id
MERGE (a)-[r:USED]->(e)
ON CREATE SET r.namespace = $namespace
