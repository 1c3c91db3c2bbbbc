// what: writes corrections whose first source is stored
// parameters: namespace, rows (of properties, with source_id, the first source)
// returns: one row a correction that was written: id
UNWIND $rows AS row
MATCH (s:Source {id: row.source_id})
WHERE s.namespace = $namespace
MERGE (c:Correction {id: row.id})
SET
  c.namespace = $namespace, c.target_id = row.target_id, c.kind = row.kind, c.verdict = row.verdict, c.note = row.note,
  c.author = row.author, c.created_at = row.created_at, c.undone_at = row.undone_at, c.undone_by = row.undone_by,
  c.text = row.text, c.source_ids = row.source_ids, c.subject = row.subject, c.object = row.object,
  c.predicate_key = row.predicate_key
RETURN row.id AS id
