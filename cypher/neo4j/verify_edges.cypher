// what: finds simple edges that name a triple or an evidence that is not stored, or none at all
// parameters: namespace
// returns: one row an edge: id
MATCH ()-[r:RELATED]->()
USING INDEX SEEK r:RELATED(namespace, source_id)
WHERE r.namespace = $namespace AND r.source_id IS NOT NULL
  AND (size(coalesce(r.triple_ids, [])) = 0
    OR any(id IN r.triple_ids WHERE NOT EXISTS { ()-[t:TRIPLE {id: id}]->() })
    OR any(id IN r.evidence_ids WHERE NOT EXISTS { (e:Evidence {id: id}) }))
RETURN r.id AS id
