// what: reads the claims of a page of sources
// parameters: namespace, after, limit
// returns: one row a source, by id: id, claims (a map for each triple: source_id, subject_id, subject, predicate, predicate_key,
//     object_id, object)
MATCH (q:Source)
USING INDEX SEEK q:Source(namespace, id)
WHERE q.namespace = $namespace AND q.id > $after
WITH q
ORDER BY q.namespace, q.id
LIMIT $limit
CALL (q) {
  MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->(o)
  USING INDEX SEEK t:TRIPLE(namespace, source_id)
  RETURN collect({
    source_id: q.id, subject_id: s.id, subject: s.name, predicate: t.predicate, predicate_key: t.predicate_key,
    object_id: o.id, object: o.name
  }) AS claims
}
RETURN q.id AS id, claims
ORDER BY id
