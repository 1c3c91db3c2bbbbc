// what: links a document to what hangs on it, and its evidence to the chunks that it is a passage of
// parameters: namespace, source_id, evidence_ids, entity_ids, chunk_ids
// returns: one row a kind of link: number
MATCH (d:Document {id: $source_id})
UNWIND $evidence_ids AS id
MATCH (e:Evidence {id: id})
CREATE (d)-[:HAS_EVIDENCE {namespace: $namespace}]->(e)
RETURN count(*) AS number
UNION ALL
MATCH (d:Document {id: $source_id})
UNWIND $entity_ids AS id
MATCH (n:Entity {id: id})
CREATE (d)-[:MENTIONS {namespace: $namespace}]->(n)
RETURN count(*) AS number
UNION ALL
MATCH (d:Document {id: $source_id})
UNWIND $chunk_ids AS id
MATCH (c:Chunk {id: id})
CREATE (d)-[:HAS_CHUNK {namespace: $namespace}]->(c)
RETURN count(*) AS number
UNION ALL
UNWIND $evidence_ids AS id
MATCH (e:Evidence {id: id})
MATCH (c:Chunk {id: e.chunk_id})
CREATE (e)-[:FROM_CHUNK {namespace: $namespace}]->(c)
RETURN count(*) AS number
