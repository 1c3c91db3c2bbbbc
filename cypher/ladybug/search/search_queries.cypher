// what: reads the texts of queries
// parameters: namespace, ids
// returns: one row a query that is stored: id, text
UNWIND $ids AS id
MATCH (q:Source {id: id})
WHERE q.namespace = $namespace
RETURN q.id AS id, q.text AS text
