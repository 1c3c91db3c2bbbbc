// what: finds queries that do not say rightly which calls and how many parts they have; what an earlier version wrote says
//     nothing. Whether these are linked to the query is another check (verify_orphans)
// parameters: namespace
// returns: one row a query: id
MATCH (q:Source)
USING INDEX SEEK q:Source(namespace, id)
WHERE q.namespace = $namespace AND q.id IS NOT NULL AND q.sizes IS NOT NULL
WITH q, coalesce(q.call_ids, []) AS named, COLLECT {
  MATCH (c:TeacherCall {namespace: $namespace, source_id: q.id})
  USING INDEX SEEK c:TeacherCall(namespace, source_id)
  RETURN c.id
} AS calls
WHERE size(named) <> size(calls) OR any(id IN calls WHERE NOT id IN named) OR q.sizes <> [
  size(calls),
  COUNT {
    MATCH (e:Evidence {namespace: $namespace, source_id: q.id})
    USING INDEX SEEK e:Evidence(namespace, source_id)
  },
  COUNT {
    MATCH (n:Entity {namespace: $namespace, source_id: q.id})
    USING INDEX SEEK n:Entity(namespace, source_id)
  },
  COUNT {
    MATCH ()-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->()
    USING INDEX SEEK t:TRIPLE(namespace, source_id)
  },
  COUNT {
    MATCH ()-[r:RELATED {namespace: $namespace, source_id: q.id}]->()
    USING INDEX SEEK r:RELATED(namespace, source_id)
  }
]
RETURN q.id AS id
