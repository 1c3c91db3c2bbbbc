// what: makes the simple edges of sources anew. Before it looks it makes other writers of them wait until this transaction ends; in
//     order of id, so that two never wait for each other. Triples of one ordered pair and predicate key whose evidence was kept
//     are a claim, whose confidence merges what each teacher says (an evidence counts once a teacher) and then the teachers.
//     Claims below the threshold are pruned. strategy `predicate` makes each claim an edge; `pair` makes one edge of those claims
//     of a pair that contradict no other, and an edge of each of the rest; `whole-pair` makes one edge of all claims of a pair, which
//     names itself if they contradict each other. A claim is named by its key, a space and its object
//     where a triple opposes one of another object of its subject. The best top_k stay (of a document, document_top_k),
//     and the source is marked with what its graph is made of and how. revision and sizes tell a reader whether what it read is of
//     one state (drag_graph/stores/neo4j/neo4j_rows.py). merge is max, mean or noisy-or; statements holds, by edge id, sentences to use
//     instead of the joined ones. What it must make is defined in drag_graph/graph/aggregate.py
// parameters: namespace, source_ids, strategy, merge, threshold, top_k, document_top_k, statements
// returns: nothing
UNWIND $source_ids AS source_id
WITH source_id ORDER BY source_id
MATCH (q:Source {id: source_id})
USING INDEX SEEK q:Source(id)
WHERE q.namespace = $namespace
SET q.status = q.status
WITH q, CASE WHEN q:Document THEN $document_top_k ELSE $top_k END AS top_k
CALL (q) {
  MATCH ()-[r:RELATED {namespace: $namespace, source_id: q.id}]->()
  USING INDEX SEEK r:RELATED(namespace, source_id)
  DELETE r
}
CALL (q) {
  MATCH (q)-[:HAS_EVIDENCE]->(e:Evidence)
  WHERE e.kept
  RETURN collect(e.id) AS kept
}
CALL (q) {
  UNWIND q.call_ids AS call_id
  MATCH (c:TeacherCall {id: call_id})
  RETURN collect([c.id, c.model]) AS calls
}
CALL (q, kept, calls) {
  MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->(o)
  USING INDEX SEEK t:TRIPLE(namespace, source_id)
  WHERE t.evidence_id IN kept
  WITH s, o, t
  ORDER BY t.rank, t.id
  WITH s, o, s.id + '-' + o.id AS pair, collect({
    id: t.id, rank: t.rank, predicate: t.predicate, key: t.predicate_key, opposes: t.opposes, confidence: t.confidence,
    evidence_id: t.evidence_id, teachers: [c IN calls WHERE c[0] IN t.call_ids | c[1]]
  }) AS triples
  CALL (triples) {
    UNWIND triples AS t
    UNWIND t.teachers AS teacher
    WITH t.key AS key, teacher, t.evidence_id AS evidence_id, max(t.confidence) AS said
    // Both engines sum in the order of the numbers, so that they come to the same bits.
    ORDER BY said
    WITH key, teacher, collect(said) AS said
    WITH key, CASE $merge
      WHEN 'max' THEN reduce(best = 0.0, c IN said | CASE WHEN c > best THEN c ELSE best END)
      WHEN 'mean' THEN reduce(total = 0.0, c IN said | total + c) / size(said)
      WHEN 'noisy-or' THEN 1.0 - reduce(doubt = 1.0, c IN said | doubt * (1.0 - c))
    END AS merged
    ORDER BY merged
    WITH key, collect(merged) AS merged
    WITH key, CASE size(merged) WHEN 1 THEN merged[0] ELSE 1.0 - reduce(doubt = 1.0, c IN merged | doubt * (1.0 - c)) END AS confidence
    WHERE confidence >= $threshold - 1e-9
    RETURN collect({key: key, confidence: confidence}) AS strong
  }
  WITH s, o, pair, triples, [c IN strong | c {.*, rivals: [d IN strong WHERE d.key <> c.key AND any(t IN triples
    WHERE (t.key = c.key AND d.key IN t.opposes) OR (t.key = d.key AND c.key IN t.opposes)) | d.key]}] AS claims
  WITH s, o, pair, triples,
    [c IN claims | c {.*, alone: $strategy = 'predicate' OR ($strategy = 'pair' AND c.rivals <> [])}] AS claims
  WITH s, o, pair, triples, [c IN claims WHERE c.alone | {id: pair + '-' + c.key, claims: [c]}]
    + [c IN [[c IN claims WHERE NOT c.alone]] WHERE c <> [] | {id: pair, claims: c}] AS groups
  RETURN count(*) AS found, collect([g IN groups | {
    id: g.id, s: s, o: o, rivals: CASE
      WHEN g.id <> pair THEN [key IN head(g.claims).rivals | pair + '-' + key]
      WHEN any(c IN g.claims WHERE c.rivals <> []) THEN [pair]
      ELSE []
    END,
    confidence: reduce(best = 0.0, c IN g.claims | CASE WHEN c.confidence > best THEN c.confidence ELSE best END),
    triples: [t IN triples WHERE t.key IN [c IN g.claims | c.key]],
    denied: reduce(all = [], t IN triples | all + CASE WHEN t.key IN [c IN g.claims | c.key]
      THEN [name IN t.opposes WHERE name CONTAINS ' '] ELSE [] END)
  }]) AS pairs
}
CALL (pairs) {
  UNWIND pairs AS edges
  UNWIND edges AS edge
  WITH edge
  ORDER BY head(edge.triples).rank, edge.confidence DESC, edge.id
  RETURN collect(edge) AS ranked
}
WITH q, top_k, found, ranked[..top_k] AS edges
SET q.graph = CASE WHEN found = 0 THEN 'evidence_only' WHEN size(edges) = 0 THEN 'multigraph' ELSE 'simple' END,
  q.sizes = q.sizes[..4] + size(edges),
  q.aggregation = $strategy + ' ' + $merge + ' ' + toString($threshold) + ' ' + toString(top_k)
SET q.revision = randomUUID() + ' ' + q.graph + ' ' + q.aggregation
WITH q, edges, [e IN edges WHERE e.denied <> [] | e.s] AS denying
UNWIND range(0, size(edges) - 1) AS rank
WITH q, rank, edges, edges[rank] AS edge, denying
WITH q, rank, edge, edge.s AS s, edge.o AS o, edge.triples AS triples, CASE
  WHEN edge.rivals = [] AND NOT edge.s IN denying THEN []
  ELSE [e IN edges WHERE e.id IN edge.rivals OR ((e.denied <> [] OR edge.denied <> []) AND e.s = edge.s AND e.id <> edge.id AND
    (any(t IN e.triples WHERE t.key + ' ' + e.o.name IN edge.denied) OR
      any(t IN edge.triples WHERE t.key + ' ' + edge.o.name IN e.denied))) | e.id]
  END AS contradicts
WITH *, s.name AS subject, o.name AS object,
  [n IN range(0, size(triples) - 1) WHERE NOT triples[n].key IN [t IN triples[..n] | t.key] | triples[n].predicate] AS said
WITH *, reduce(out = [], w IN said | CASE WHEN w IN out THEN out ELSE out + w END) AS predicates
CREATE (s)-[:RELATED {
  id: edge.id, source_id: q.id, namespace: $namespace, predicates: predicates, confidence: edge.confidence,
  support: size(triples),
  statement: coalesce(nullIf($statements[edge.id], ''), reduce(text = '', w IN
    reduce(out = [], w IN [p IN predicates | replace(p, '_', ' ')] | CASE WHEN w IN out THEN out ELSE out + w END) |
    text + CASE text WHEN '' THEN '' ELSE '; ' END + subject + ' ' + w + ' ' + object)),
  triple_ids: [t IN triples | t.id], contradicts: contradicts,
  evidence_ids: reduce(out = [], t IN triples | CASE WHEN t.evidence_id IN out THEN out ELSE out + t.evidence_id END),
  rank: rank
}]->(o)
