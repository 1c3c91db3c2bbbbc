// what: erases the corrections of these targets, and those that rest on any of these sources
// parameters: namespace, source_ids, target_ids
// returns: nothing
MATCH (c:Correction)
WHERE c.namespace = $namespace AND c.id IS NOT NULL
UNWIND c.source_ids AS source_id
WITH c, source_id
WHERE source_id IN $source_ids OR c.target_id IN $target_ids
WITH DISTINCT c
DELETE c
