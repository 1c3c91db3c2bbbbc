// The embedded engine wants declared tables. An id is a hash that begins with the namespace; the primary key makes it one node.
// `options` is a word of its grammar. There are no secondary indexes, so a source names its teacher calls in `call_ids`.
// A source is a query or a document (`kind`), as the second label Source says on Neo4j: one table, as a relationship that begins in
// two tables takes twice the time to read (docs/adr/0033). What only the other kind has is null. `linked` says that `link` has
// come to all of it. A vector of evidence or of an edge's summary is its numbers' bytes, compressed
// (drag_graph/stores/ladybug/vectors.py): there are many, and the client looks at each number of a list.
CREATE NODE TABLE Source (
  id STRING PRIMARY KEY, namespace STRING, kind STRING, text STRING, `options` STRING[], domain STRING, complexity DOUBLE,
  input_id STRING, metadata STRING, name STRING, uri STRING, sha256 STRING, media_type STRING, modified_at STRING,
  settings_hash STRING, status STRING, graph STRING, blind BOOLEAN, embedding DOUBLE[], created_at STRING, expires_at STRING,
  call_ids STRING[], aggregation STRING, linked BOOLEAN
);
CREATE NODE TABLE Chunk (
  id STRING PRIMARY KEY, namespace STRING, source_id STRING, position INT64, start INT64, `end` INT64, text STRING
);
CREATE NODE TABLE Evidence (
  id STRING PRIMARY KEY, namespace STRING, source_id STRING, text STRING, framing STRING, position INT64, cosine DOUBLE,
  llm_score DOUBLE, score DOUBLE, rank INT64, kept BOOLEAN, reason STRING, chunk_id STRING, start INT64, `end` INT64,
  created_at STRING, embedding BLOB
);
CREATE NODE TABLE Entity (
  id STRING PRIMARY KEY, namespace STRING, source_id STRING, name STRING, type STRING, variants STRING[]
);
CREATE NODE TABLE TeacherCall (
  id STRING PRIMARY KEY, namespace STRING, source_id STRING, stage STRING, model STRING, prompt_version STRING,
  request_sha256 STRING, response_sha256 STRING, tokens_in INT64, tokens_out INT64, cost_usd DOUBLE, latency_ms INT64,
  created_at STRING, follows STRING
);
CREATE NODE TABLE Answer (
  id STRING PRIMARY KEY, namespace STRING, question STRING, `options` STRING[], source_ids STRING[], text STRING, label STRING,
  gold STRING, correct BOOLEAN, confidence DOUBLE, mode STRING, student STRING, lines STRING[], line_json STRING,
  edge_ids STRING[], prompt_tokens INT64, latency_ms INT64, created_at STRING, snapshot STRING
);
// A concept is one normal name; SAME_AS says that two are one thing, and `cluster` is what the standing SAME_AS relationships make
// of it: the id of the concept that stands for all, or nothing while the concept waits for `link` (docs/adr/0015, 0023).
CREATE NODE TABLE Concept (
  id STRING PRIMARY KEY, namespace STRING, name STRING, embedding BLOB, key STRING, cluster STRING, entities INT64,
  revision INT64
);

CREATE REL TABLE HAS_CHUNK (FROM Source TO Chunk, namespace STRING);
CREATE REL TABLE HAS_EVIDENCE (FROM Source TO Evidence, namespace STRING);
CREATE REL TABLE MENTIONS (FROM Source TO Entity, namespace STRING);
CREATE REL TABLE GENERATED_BY (FROM Evidence TO TeacherCall, namespace STRING);
CREATE REL TABLE FROM_CHUNK (FROM Evidence TO Chunk, namespace STRING);
CREATE REL TABLE TRIPLE (
  FROM Entity TO Entity, id STRING, namespace STRING, source_id STRING, predicate STRING, predicate_key STRING,
  confidence DOUBLE, evidence_id STRING, call_ids STRING[], rank INT64, opposes STRING[]
);
CREATE REL TABLE RELATED (
  FROM Entity TO Entity, id STRING, namespace STRING, source_id STRING, statement STRING, predicates STRING[],
  confidence DOUBLE, support INT64, triple_ids STRING[], evidence_ids STRING[], contradicts STRING[], rank INT64
);
CREATE REL TABLE REFERS_TO (FROM Entity TO Concept, namespace STRING);
CREATE REL TABLE SAME_AS (
  FROM Concept TO Concept, id STRING, namespace STRING, method STRING, score DOUBLE, created_at STRING, undone_at STRING
);
CREATE REL TABLE ANSWERS (FROM Answer TO Source, namespace STRING);
CREATE REL TABLE USED (FROM Answer TO Evidence, namespace STRING);

// What a cloud knows of its edges (docs/edges.md): who they are, and the summaries that they sent up.
CREATE NODE TABLE Edge (
  id STRING PRIMARY KEY, namespace STRING, name STRING, token_sha256 STRING, created_at STRING, seen_at STRING, refused INT64
);
CREATE NODE TABLE Summary (
  id STRING PRIMARY KEY, namespace STRING, edge_id STRING, key STRING, hash STRING, text STRING, embedding BLOB
);
CREATE REL TABLE HAS_SUMMARY (FROM Edge TO Summary, namespace STRING);

// Parts of the whole graph, and what they are about (docs/communities.md).
CREATE NODE TABLE Community (
  id STRING PRIMARY KEY, namespace STRING, level INT64, name STRING, summary STRING, summariser STRING, member_hash STRING,
  things INT64, edges INT64, sources INT64, embedding BLOB
);
CREATE REL TABLE IN_COMMUNITY (FROM Entity TO Community, namespace STRING);

CREATE NODE TABLE Migration (version INT64 PRIMARY KEY, name STRING, checksum STRING, applied_at STRING);
CREATE NODE TABLE StoreInfo (key STRING PRIMARY KEY, namespace STRING, embedder STRING, dimension INT64);
