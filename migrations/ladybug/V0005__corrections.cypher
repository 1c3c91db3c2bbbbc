// What a person says of a claim or an answer, by the id of that (docs/corrections.md). A claim has no node of its own: its id is a
// hash, so it outlives the triples and edges that are made again. `text`, `subject`, `object` and `predicate_key` say what it was.
CREATE NODE TABLE Correction (
  id STRING PRIMARY KEY, namespace STRING, target_id STRING, kind STRING, verdict STRING, note STRING, author STRING,
  created_at STRING, undone_at STRING, undone_by STRING, text STRING, source_ids STRING[], subject STRING, object STRING,
  predicate_key STRING
);
