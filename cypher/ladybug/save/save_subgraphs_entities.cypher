// what: writes entities from maps of their properties, and links their sources to them
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (q:Source {id: r.source_id})
CREATE (q)-[:MENTIONS {namespace: $namespace}]->(:Entity {
  namespace: $namespace, source_id: r.source_id, id: r.id, name: r.name, type: r.type, variants: r.variants[2:]
})
