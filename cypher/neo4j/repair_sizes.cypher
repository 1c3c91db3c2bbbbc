// what: counts the parts of queries anew, by which a reader tells whether what it read is of one state
// parameters: namespace, source_ids (locked)
// returns: nothing
UNWIND $source_ids AS id
MATCH (q:Query {id: id})
USING INDEX SEEK q:Query(id)
WHERE q.namespace = $namespace
SET q.call_ids = COLLECT { MATCH (c:TeacherCall {namespace: $namespace, source_id: q.id}) RETURN c.id ORDER BY c.id },
  q.sizes = [
    COUNT { (:TeacherCall {namespace: $namespace, source_id: q.id}) }, COUNT { (:Evidence {namespace: $namespace, source_id: q.id}) },
    COUNT { (:Entity {namespace: $namespace, source_id: q.id}) }, COUNT { ()-[:TRIPLE {namespace: $namespace, source_id: q.id}]->() },
    COUNT { ()-[:RELATED {namespace: $namespace, source_id: q.id}]->() }
  ],
  q.revision = randomUUID()
