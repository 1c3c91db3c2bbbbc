// what: removes those of these concepts that no entity refers to, with the judgements on them, and empties the clusters of those that
//     were the same thing. `recount_concepts` comes first
// parameters: namespace, ids
// returns: one row: number (how many were removed)
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace AND c.entities = 0
OPTIONAL MATCH (c)-[:SAME_AS]-(other:Concept)
SET other.cluster = '', other.revision = coalesce(other.revision, 0) + 1
WITH DISTINCT c
DETACH DELETE c
RETURN count(*) AS number
