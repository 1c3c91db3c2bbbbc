// what: takes away the simple edges of queries
// parameters: namespace, source_ids
// returns: nothing
UNWIND $source_ids AS id
MATCH ()-[r:RELATED {namespace: $namespace, source_id: id}]->()
USING INDEX SEEK r:RELATED(namespace, source_id)
DELETE r
