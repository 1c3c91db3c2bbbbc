// what: makes concepts from maps of their properties
// parameters: rows
// returns: nothing
UNWIND $rows AS r
CREATE (:Concept {id: r.id, namespace: r.namespace, key: r.key, name: r.name, entities: 0, cluster: ''})
