// what: writes entities from maps of their properties
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
CREATE (:Entity {
  namespace: $namespace, source_id: r.source_id, id: r.id, name: r.name, type: r.type, variants: r.variants[2:]
})
