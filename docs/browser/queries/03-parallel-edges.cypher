// 03 Parallel edges
// Two evidence may agree, or one may tell more than the other; the simple edge merges them. One row an ordered pair of entities,
// the most triples first. Look at the graph, or at the table for what the evidence says.
// Parameters: namespace, source_id
MATCH (s:Entity)-[t:TRIPLE {namespace: $namespace, source_id: $source_id}]->(o:Entity)
MATCH (e:Evidence {id: t.evidence_id})
WITH s, o, t, e
ORDER BY t.confidence DESC, t.id
WITH s, o, collect(t) AS triples, collect(t.predicate + ' (' + toString(t.confidence) + ', ' + e.text + ')') AS said
WHERE size(triples) > 1
RETURN s AS subject, triples, o AS object, size(triples) AS number, said
ORDER BY number DESC, subject.name, object.name
