// what: writes entities from maps of their properties with the links from their document
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (q:Document {id: r.source_id})
CREATE (q)-[:MENTIONS {namespace: r.namespace}]->(:Entity {
  namespace: r.namespace, source_id: r.source_id, id: r.id, name: r.name, type: r.type, variants: r.variants
})
