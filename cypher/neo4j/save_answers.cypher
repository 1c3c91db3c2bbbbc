// what: writes answers from lists (properties, query ids, evidence ids) and links them to what is stored of those; an answer
//     that is there already stays as it is, and one to a query that is not stored is left out. The queries are locked first, in
//     order of id: nobody can erase what an answer rests on before the answer is there to be erased with it
// parameters: namespace, answers, query_ids (of all answers)
// returns: one row: kept (how many answers rest on nothing that is not stored)
CALL () {
  UNWIND $query_ids AS id
  WITH id ORDER BY id
  MATCH (q:Query {id: id})
  USING INDEX SEEK q:Query(id)
  WHERE q.namespace = $namespace
  SET q.status = q.status
  RETURN collect(q.id) AS locked
}
WITH [row IN $answers WHERE all(id IN row[1] WHERE id IN locked)] AS kept
CALL (kept) {
  UNWIND kept AS row
  MERGE (a:Answer {id: row[0].id})
  ON CREATE SET a = row[0]
  WITH a, row
  CALL (a, row) {
    UNWIND row[1] AS id
    MATCH (q:Query {id: id})
    USING INDEX SEEK q:Query(id)
    WHERE q.namespace = $namespace
    MERGE (a)-[r:ANSWERS]->(q)
    ON CREATE SET r.namespace = $namespace
  }
  CALL (a, row) {
    UNWIND row[2] AS id
    MATCH (e:Evidence {id: id})
    USING INDEX SEEK e:Evidence(id)
    WHERE e.namespace = $namespace
    MERGE (a)-[r:USED]->(e)
    ON CREATE SET r.namespace = $namespace
  }
}
RETURN size(kept) AS kept
