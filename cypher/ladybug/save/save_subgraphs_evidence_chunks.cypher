// what: links evidence to the chunk that it is from
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (e:Evidence {id: r.evidence_id})
MATCH (c:Chunk {id: r.id})
CREATE (e)-[:FROM_CHUNK {namespace: $namespace}]->(c)
