// what: finds triples without a stored evidence or teacher call of their own query: none, unless somebody tampered (promise 4)
// parameters: namespace
// returns: one row a triple, by id: id
MATCH ()-[t:TRIPLE]->()
USING INDEX SEEK t:TRIPLE(namespace, source_id)
WHERE t.namespace = $namespace AND t.source_id IS NOT NULL
  AND NOT (EXISTS { MATCH (e:Evidence {id: t.evidence_id}) WHERE e.source_id = t.source_id }
    AND size(t.call_ids) > 0
    AND all(id IN t.call_ids WHERE EXISTS { MATCH (c:TeacherCall {id: id}) WHERE c.source_id = t.source_id }))
RETURN t.id AS id
ORDER BY id
