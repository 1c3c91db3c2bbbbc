// what: sets the clusters of concepts, by lists: id, entities, cluster (as they were read), joined (standing judgements), forms
//     (other names of their entities, null: not looked at), the cluster to set; by id. What is not as it was stays as it is. The
//     first SET makes others wait
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS row
MATCH (c:Concept {id: row[0]})
USING INDEX SEEK c:Concept(id)
WHERE c.namespace = $namespace
SET c.key = c.key
WITH c, row
WHERE c.entities = row[1] AND c.cluster = row[2] AND COUNT { (c)-[s:SAME_AS]-() WHERE s.undone_at = '' } = row[3]
CALL (c, row) {
  WITH c, row
  WHERE row[4] IS NOT NULL
  MATCH (c)<-[:REFERS_TO]-(e:Entity)
  RETURN sum(coalesce(size(e.variants), 0)) AS forms
}
WITH c, row, forms
WHERE row[4] IS NULL OR forms = row[4]
SET c.cluster = row[5]
