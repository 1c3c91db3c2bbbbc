// what: opens the clusters that concepts are in, until `link` has come to them, and deletes judgements that rest on an alias
// parameters: namespace, concept_ids, ids (of judgements)
// returns: nothing
CALL () {
  UNWIND $concept_ids AS id
  MATCH (c:Concept {id: id})
  USING INDEX SEEK c:Concept(id)
  WHERE c.namespace = $namespace AND c.cluster <> ''
  WITH DISTINCT c.cluster AS cluster
  MATCH (other:Concept {namespace: $namespace, cluster: cluster})
  USING INDEX SEEK other:Concept(namespace, cluster)
  WITH other
  ORDER BY other.id
  SET other.cluster = ''
}
CALL () {
  UNWIND $ids AS id
  MATCH ()-[s:SAME_AS {id: id}]->()
  USING INDEX SEEK s:SAME_AS(id)
  WHERE s.method = 'alias' AND s.undone_at = ''
  DELETE s
}
