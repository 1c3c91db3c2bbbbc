// what: makes concepts from maps: id, key, name
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
CREATE (:Concept {id: r.id, namespace: $namespace, key: r.key, name: r.name, entities: 0, cluster: '', revision: 0})
