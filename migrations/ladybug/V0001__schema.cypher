// The embedded engine wants declared tables. An id is a hash that begins with the namespace; the primary key makes it one node.
// `options` is a word of its grammar. `call_ids` is the engine's own, as there are no secondary indexes: which teacher calls a
// subgraph has.
CREATE NODE TABLE Query (
  id STRING PRIMARY KEY, namespace STRING, text STRING, `options` STRING[], domain STRING, complexity DOUBLE, input_id STRING,
  metadata STRING, settings_hash STRING, status STRING, graph STRING, blind BOOLEAN, embedding DOUBLE[], created_at STRING,
  expires_at STRING, call_ids STRING[]
);
CREATE NODE TABLE Evidence (
  id STRING PRIMARY KEY, namespace STRING, source_id STRING, text STRING, framing STRING, position INT64, cosine DOUBLE,
  llm_score DOUBLE, score DOUBLE, rank INT64, kept BOOLEAN, reason STRING, created_at STRING
);
CREATE NODE TABLE Entity (
  id STRING PRIMARY KEY, namespace STRING, source_id STRING, name STRING, type STRING, variants STRING[]
);
CREATE NODE TABLE TeacherCall (
  id STRING PRIMARY KEY, namespace STRING, source_id STRING, stage STRING, model STRING, prompt_version STRING,
  request_sha256 STRING, response_sha256 STRING, tokens_in INT64, tokens_out INT64, cost_usd DOUBLE, latency_ms INT64,
  created_at STRING
);
CREATE NODE TABLE Answer (
  id STRING PRIMARY KEY, namespace STRING, question STRING, `options` STRING[], source_ids STRING[], text STRING, label STRING,
  gold STRING, correct BOOLEAN, confidence DOUBLE, mode STRING, student STRING, lines STRING[], line_json STRING,
  edge_ids STRING[], prompt_tokens INT64, latency_ms INT64, created_at STRING, snapshot STRING
);
CREATE NODE TABLE Chunk (id STRING PRIMARY KEY, namespace STRING);
CREATE NODE TABLE Document (id STRING PRIMARY KEY, namespace STRING);
CREATE NODE TABLE Concept (id STRING PRIMARY KEY, namespace STRING, name STRING, embedding DOUBLE[]);

CREATE REL TABLE HAS_EVIDENCE (FROM Query TO Evidence, namespace STRING);
CREATE REL TABLE MENTIONS (FROM Query TO Entity, namespace STRING);
CREATE REL TABLE GENERATED_BY (FROM Evidence TO TeacherCall, namespace STRING);
CREATE REL TABLE FROM_CHUNK (FROM Evidence TO Chunk, namespace STRING);
CREATE REL TABLE PART_OF (FROM Chunk TO Document, namespace STRING);
CREATE REL TABLE TRIPLE (
  FROM Entity TO Entity, id STRING, namespace STRING, source_id STRING, predicate STRING, predicate_key STRING,
  confidence DOUBLE, evidence_id STRING, call_id STRING, rank INT64
);
CREATE REL TABLE RELATED (
  FROM Entity TO Entity, id STRING, namespace STRING, source_id STRING, statement STRING, predicates STRING[],
  confidence DOUBLE, support INT64, triple_ids STRING[], evidence_ids STRING[], rank INT64
);
CREATE REL TABLE REFERS_TO (FROM Entity TO Concept, namespace STRING);
CREATE REL TABLE ANSWERS (FROM Answer TO Query, namespace STRING);
CREATE REL TABLE USED (FROM Answer TO Evidence, namespace STRING);

CREATE NODE TABLE Migration (version INT64 PRIMARY KEY, name STRING, checksum STRING, applied_at STRING);
CREATE NODE TABLE StoreInfo (key STRING PRIMARY KEY, namespace STRING, embedder STRING, dimension INT64);
