// what: reads all nodes Concept of the namespace
// parameters: namespace
// returns: one row a node: its properties
MATCH (c:Concept)
WHERE c.namespace = $namespace
RETURN
  c.id AS id, c.namespace AS namespace, c.key AS key, c.name AS name, c.entities AS entities, c.cluster AS cluster,
  c.embedding AS embedding
