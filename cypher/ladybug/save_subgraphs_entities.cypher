// what: writes entities from maps of their properties with the links from their query
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (q:Query {id: r.query_id})
CREATE (q)-[:MENTIONS {namespace: r.namespace}]->(:Entity {
  namespace: r.namespace, query_id: r.query_id, id: r.id, name: r.name, type: r.type, variants: r.variants
})
