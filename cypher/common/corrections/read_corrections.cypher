// what: reads the corrections of the namespace
// parameters: namespace
// returns: one row a correction, in no order: its properties
MATCH (c:Correction)
WHERE c.namespace = $namespace AND c.id IS NOT NULL
RETURN
  c.target_id AS target_id, c.kind AS kind, c.verdict AS verdict, c.note AS note, c.author AS author, c.created_at AS created_at,
  c.undone_at AS undone_at, c.undone_by AS undone_by, c.text AS text, c.source_ids AS source_ids, c.subject AS subject,
  c.object AS object, c.predicate_key AS predicate_key
