// what: writes chunks from maps of their properties
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
CREATE (:Chunk {
  namespace: $namespace, source_id: r.source_id, id: r.id, position: r.position, start: r.start, `end`: r.`end`, text: r.text
})
