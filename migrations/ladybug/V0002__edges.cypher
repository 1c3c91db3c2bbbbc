// What a cloud knows of its edges (docs/edges.md): who they are, and the summaries that they sent up.
CREATE NODE TABLE Edge (
  id STRING PRIMARY KEY, namespace STRING, name STRING, token_sha256 STRING, created_at STRING, seen_at STRING, refused INT64
);
CREATE NODE TABLE Summary (
  id STRING PRIMARY KEY, namespace STRING, edge_id STRING, key STRING, hash STRING, text STRING, embedding DOUBLE[]
);
CREATE REL TABLE HAS_SUMMARY (FROM Edge TO Summary, namespace STRING);
