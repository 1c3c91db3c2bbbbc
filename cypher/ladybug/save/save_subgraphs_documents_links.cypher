// what: links evidence to the chunks that it is a passage of
// parameters: rows (evidence_id and id of the chunk)
// returns: nothing
UNWIND $rows AS r
MATCH (e:Evidence {id: r.evidence_id})
MATCH (c:Chunk {id: r.id})
CREATE (e)-[:FROM_CHUNK {namespace: r.namespace}]->(c)
