// what: reads which claims are marked wrong
// parameters: namespace
// returns: one row a claim: id, source_ids
MATCH (c:Correction)
WHERE c.namespace = $namespace AND c.id IS NOT NULL AND c.kind = 'claim' AND c.verdict = 'wrong' AND c.undone_at = ''
RETURN c.target_id AS id, c.source_ids AS source_ids
