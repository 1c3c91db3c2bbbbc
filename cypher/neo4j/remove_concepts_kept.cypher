// what: removes the concepts that only keep judgements which were taken back, as far as no entity refers to them again
// parameters: namespace
// returns: nothing
MATCH (c:Concept {namespace: $namespace, cluster: ''})
USING INDEX SEEK c:Concept(namespace, cluster)
WHERE c.name = ''
WITH c
ORDER BY c.id
SET c.key = c.key
WITH c
WHERE c.name = '' AND NOT EXISTS { (c)<-[:REFERS_TO]-() }
DETACH DELETE c
