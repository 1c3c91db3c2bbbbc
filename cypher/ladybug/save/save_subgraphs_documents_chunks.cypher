// what: writes chunks from maps of their properties with the links from their document
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (d:Document {id: r.source_id})
CREATE (d)-[:HAS_CHUNK {namespace: r.namespace}]->(:Chunk {
  namespace: r.namespace, source_id: r.source_id, id: r.id, position: r.position, start: r.start, `end`: r.`end`, text: r.text
})
