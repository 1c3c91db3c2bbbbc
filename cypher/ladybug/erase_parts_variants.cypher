// what: gives an entity other variants
// parameters: namespace, entity_id, variants
// returns: nothing
MATCH (n:Entity {id: $entity_id})
WHERE n.namespace = $namespace
SET n.variants = $variants
