// what: erases the entities of one query
// parameters: namespace, source_id
// returns: nothing
MATCH (e:Entity)
WHERE e.namespace = $namespace AND e.source_id = $source_id
DETACH DELETE e
