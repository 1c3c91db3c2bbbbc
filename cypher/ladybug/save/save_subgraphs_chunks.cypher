// what: writes chunks from maps of their properties, and links their documents to them
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (q:Source {id: r.source_id})
CREATE (q)-[:HAS_CHUNK {namespace: $namespace}]->(:Chunk {
  namespace: $namespace, source_id: r.source_id, id: r.id, position: r.position, start: r.start, `end`: r.`end`, text: r.text,
  page: r.page, heading: r.heading[2:]
})
