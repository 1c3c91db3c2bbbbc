// what: writes answers from lists (properties, query ids, evidence ids, and the ids of the evidence, triples and calls that their
//     lines rest on) and links them to what is stored of those; an answer that is there already stays as it is, and one that
//     rests on what is not stored is left out. The queries are locked first, in order of id: nobody can erase what an answer
//     rests on between the look at it and the answer, or before the answer is there to be erased with it
// parameters: namespace, answers, source_ids (of all answers)
// returns: one row: kept (the ids of the answers that rest on nothing that is not stored)
CALL () {
  UNWIND $source_ids AS id
  WITH id ORDER BY id
  MATCH (q:Source {id: id})
  USING INDEX SEEK q:Source(id)
  WHERE q.namespace = $namespace
  SET q.status = q.status
  RETURN collect(q.id) AS locked
}
CALL (locked) {
  UNWIND $answers AS row
  WITH row
  WHERE all(id IN row[1] WHERE id IN locked)
  CALL (row) {
    UNWIND row[3] AS id
    MATCH (e:Evidence {id: id})
    USING INDEX SEEK e:Evidence(id)
    RETURN count(e) AS evidence
  }
  CALL (row) {
    UNWIND row[4] AS id
    MATCH ()-[t:TRIPLE {id: id}]->()
    USING INDEX SEEK t:TRIPLE(id)
    RETURN count(t) AS triples
  }
  CALL (row) {
    UNWIND row[5] AS id
    MATCH (c:TeacherCall {id: id})
    USING INDEX SEEK c:TeacherCall(id)
    RETURN count(c) AS calls
  }
  WITH row
  WHERE [evidence, triples, calls] = [size(row[3]), size(row[4]), size(row[5])] OR EXISTS { (:Answer {id: row[0].id}) }
  RETURN collect(row) AS kept
}
CALL (kept) {
  UNWIND kept AS row
  MERGE (a:Answer {id: row[0].id})
  ON CREATE SET a = row[0]
  WITH a, row
  CALL (a, row) {
    UNWIND row[1] AS id
    MATCH (q:Source {id: id})
    USING INDEX SEEK q:Source(id)
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
RETURN [row IN kept | row[0].id] AS kept
