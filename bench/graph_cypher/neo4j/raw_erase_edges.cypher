// what: takes away the simple edges of queries
// parameters: namespace, query_ids
// returns: nothing
UNWIND $query_ids AS id
MATCH ()-[r:RELATED {namespace: $namespace, query_id: id}]->()
USING INDEX SEEK r:RELATED(namespace, query_id)
DELETE r
