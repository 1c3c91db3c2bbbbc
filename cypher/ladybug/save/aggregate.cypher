// what: merges the triples of a source whose evidence was kept into claims, one an ordered pair and predicate key. A claim's
//     confidence merges what each teacher says (an evidence counts once a teacher) and then the teachers; merge is max, mean or
//     noisy-or. The engine knows no conditions on lists and cannot number rows: drag_graph/graph/aggregate.py makes the edges
// parameters: namespace, source_id, merge
// returns: one row a claim: subject_id, subject, object_id, object, key, confidence, opposes (a list a triple), triples (maps of
//     rank, id, predicate, evidence_id; lists of lists, in no order, a triple once a teacher)
MATCH (q:Source {id: $source_id})-[:MENTIONS]->(s:Entity)-[t:TRIPLE]->(o:Entity)
WHERE q.namespace = $namespace
// The plain WITH keeps the planner from scanning all evidence, and all calls, before it walks to this source's.
WITH s, t, o
MATCH (e:Evidence {id: t.evidence_id})
WITH s, t, o, e.kept AS kept
WHERE kept
UNWIND t.call_ids AS call_id
MATCH (c:TeacherCall {id: call_id})
WITH s, o, t, c.model AS teacher
WITH
  s.id AS subject_id, s.name AS subject, o.id AS object_id, o.name AS object, t.predicate_key AS key, teacher,
  t.evidence_id AS evidence_id, max(t.confidence) AS said, collect(t.opposes) AS opposes,
  collect({rank: t.rank, id: t.id, predicate: t.predicate, evidence_id: t.evidence_id}) AS triples
WITH
  subject_id, subject, object_id, object, key, teacher, max(said) AS highest, collect(said) AS said,
  collect(1.0 - said) AS doubts, collect(opposes) AS opposes, collect(triples) AS triples
WITH
  subject_id, subject, object_id, object, key, opposes, triples,
  // Both engines sum in the order of the numbers, so that they come to the same bits.
  CASE $merge
    WHEN 'max' THEN highest
    WHEN 'mean' THEN list_sum(list_sort(said)) / size(said)
    WHEN 'noisy-or' THEN 1.0 - list_product(list_reverse_sort(doubts))
  END AS merged
WITH
  subject_id, subject, object_id, object, key, max(merged) AS highest, count(*) AS teachers, collect(1.0 - merged) AS doubts,
  collect(opposes) AS opposes, collect(triples) AS triples
RETURN
  subject_id, subject, object_id, object, key, opposes, triples,
  CASE WHEN teachers = 1 THEN highest ELSE 1.0 - list_product(list_reverse_sort(doubts)) END AS confidence
