// what: reads the triples of kept evidence about clusters of concepts, concepts and entities, those of the highest confidence first.
//     What is looked at has limits, so a hub costs no more than another
// parameters: namespace, nodes, limit, entities (of a node, that are looked at), triples (of these entities, that are looked at)
// returns: one row a triple, some more than once: a list as in search_units, and unit, the chunk or query that it was read from
UNWIND $nodes AS node
CALL (node) {
  CALL (node) {
    MATCH (c:Concept {namespace: $namespace, cluster: node})
    USING INDEX SEEK c:Concept(namespace, cluster)
    MATCH (c)<-[:REFERS_TO]-(n:Entity)
    RETURN n
  UNION
    MATCH (c:Concept {id: node})
    USING INDEX SEEK c:Concept(id)
    WHERE c.namespace = $namespace
    MATCH (c)<-[:REFERS_TO]-(n:Entity)
    RETURN n
  UNION
    MATCH (n:Entity {id: node})
    USING INDEX SEEK n:Entity(id)
    WHERE n.namespace = $namespace
    RETURN n
  }
  WITH n LIMIT $entities
  MATCH (n)-[t:TRIPLE]-()
  WITH t LIMIT $triples
  WITH DISTINCT t
  ORDER BY t.confidence DESC, t.id
  MATCH (e:Evidence {id: t.evidence_id})
  USING INDEX SEEK e:Evidence(id)
  WHERE e.kept
  WITH t, e
  ORDER BY t.confidence DESC, t.id
  LIMIT $limit
  RETURN t, coalesce(nullIf(e.chunk_id, ''), e.source_id) AS unit
}
WITH DISTINCT t, unit, startNode(t) AS s, endNode(t) AS o
RETURN [
  t.id, t.source_id, t.evidence_id,
  s.id, s.name, head([(s)-[:REFERS_TO]->(c) | coalesce(nullIf(c.cluster, ''), c.id)]), t.predicate,
  o.id, o.name, head([(o)-[:REFERS_TO]->(c) | coalesce(nullIf(c.cluster, ''), c.id)]), t.confidence, t.predicate_key
] AS triple, unit
