// what: finds simple edges that name a triple of their ends or an evidence that is not stored, or none at all
// parameters: namespace
// returns: one row an edge and id: id, missing (the id that is not stored, or empty)
MATCH ()-[r:RELATED]->()
WHERE r.namespace = $namespace AND size(r.triple_ids) = 0
RETURN r.id AS id, '' AS missing
UNION ALL
MATCH ()-[r:RELATED]->()
WHERE r.namespace = $namespace
UNWIND r.triple_ids AS named
WITH r.id AS id, named
OPTIONAL MATCH ()-[t:TRIPLE]->()
WHERE t.id = named
WITH id, named, t.id AS found
WHERE found IS NULL
RETURN id, named AS missing
UNION ALL
MATCH ()-[r:RELATED]->()
WHERE r.namespace = $namespace
UNWIND r.evidence_ids AS named
WITH r.id AS id, named
OPTIONAL MATCH (e:Evidence {id: named})
WITH id, named, e.id AS found
WHERE found IS NULL
RETURN id, named AS missing
