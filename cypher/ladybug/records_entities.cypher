// what: reads all nodes Entity of the namespace
// parameters: namespace
// returns: one row a node: its properties
MATCH (n:Entity)
WHERE n.namespace = $namespace
RETURN
  n.id AS id, n.namespace AS namespace, n.source_id AS source_id, n.name AS name, n.type AS type, n.variants AS variants
