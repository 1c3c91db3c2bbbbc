// what: reads the vectors of those of these queries, concepts and communities that have one
// parameters: namespace, ids
// returns: one row a vector: kind ('queries', 'similar' or 'communities'), id, embedding
UNWIND $ids AS id
MATCH (q:Source {id: id})
WHERE q.namespace = $namespace AND q.kind = 'query' AND size(q.embedding) > 0
RETURN 'queries' AS kind, q.id AS id, q.embedding AS embedding
UNION ALL
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace AND size(c.embedding) > 0
RETURN 'similar' AS kind, c.id AS id, c.embedding AS embedding
UNION ALL
UNWIND $ids AS id
MATCH (c:Community {id: id})
WHERE c.namespace = $namespace AND size(c.embedding) > 0
RETURN 'communities' AS kind, c.id AS id, c.embedding AS embedding
