// Tables that earlier versions made are compressed by the engine, which loses vectors that are mostly zeros
// (docs/adr/0018-uncompressed.md). Whether a table is compressed is decided when it is made, so those that have vectors, and the
// relationship tables that lead to these, are made anew. What an earlier attempt has left is made anew, too.
DROP TABLE IF EXISTS HAS_EVIDENCE_anew;
DROP TABLE IF EXISTS MENTIONS_anew;
DROP TABLE IF EXISTS GENERATED_BY_anew;
DROP TABLE IF EXISTS FROM_CHUNK_anew;
DROP TABLE IF EXISTS REFERS_TO_anew;
DROP TABLE IF EXISTS SAME_AS_anew;
DROP TABLE IF EXISTS ANSWERS_anew;
DROP TABLE IF EXISTS USED_anew;
DROP TABLE IF EXISTS Query_anew;
DROP TABLE IF EXISTS Evidence_anew;
DROP TABLE IF EXISTS Concept_anew;

CREATE NODE TABLE Query_anew (
  id STRING PRIMARY KEY, namespace STRING, text STRING, `options` STRING[], domain STRING, complexity DOUBLE, input_id STRING,
  metadata STRING, settings_hash STRING, status STRING, graph STRING, blind BOOLEAN, embedding DOUBLE[], created_at STRING,
  expires_at STRING, call_ids STRING[], aggregation STRING
);
CREATE NODE TABLE Evidence_anew (
  id STRING PRIMARY KEY, namespace STRING, source_id STRING, text STRING, framing STRING, position INT64, cosine DOUBLE,
  llm_score DOUBLE, score DOUBLE, rank INT64, kept BOOLEAN, reason STRING, created_at STRING, embedding FLOAT[]
);
CREATE NODE TABLE Concept_anew (
  id STRING PRIMARY KEY, namespace STRING, name STRING, embedding DOUBLE[], key STRING, cluster STRING, entities INT64
);
CREATE REL TABLE HAS_EVIDENCE_anew (FROM Query_anew TO Evidence_anew, namespace STRING);
CREATE REL TABLE MENTIONS_anew (FROM Query_anew TO Entity, namespace STRING);
CREATE REL TABLE GENERATED_BY_anew (FROM Evidence_anew TO TeacherCall, namespace STRING);
CREATE REL TABLE FROM_CHUNK_anew (FROM Evidence_anew TO Chunk, namespace STRING);
CREATE REL TABLE REFERS_TO_anew (FROM Entity TO Concept_anew, namespace STRING);
CREATE REL TABLE SAME_AS_anew (
  FROM Concept_anew TO Concept_anew, id STRING, namespace STRING, method STRING, score DOUBLE, created_at STRING,
  undone_at STRING
);
CREATE REL TABLE ANSWERS_anew (FROM Answer TO Query_anew, namespace STRING);
CREATE REL TABLE USED_anew (FROM Answer TO Evidence_anew, namespace STRING);

// `n.*` is in the order of the table above; a column that somebody has added makes it fail, with everything as it was.
COPY Query_anew FROM (MATCH (n:Query) RETURN n.*);
COPY Evidence_anew FROM (MATCH (n:Evidence) RETURN n.*);
COPY Concept_anew FROM (MATCH (n:Concept) RETURN n.*);
COPY HAS_EVIDENCE_anew FROM (MATCH (a:Query)-[r:HAS_EVIDENCE]->(b:Evidence) RETURN a.id, b.id, r.namespace);
COPY MENTIONS_anew FROM (MATCH (a:Query)-[r:MENTIONS]->(b:Entity) RETURN a.id, b.id, r.namespace);
COPY GENERATED_BY_anew FROM (MATCH (a:Evidence)-[r:GENERATED_BY]->(b:TeacherCall) RETURN a.id, b.id, r.namespace);
COPY FROM_CHUNK_anew FROM (MATCH (a:Evidence)-[r:FROM_CHUNK]->(b:Chunk) RETURN a.id, b.id, r.namespace);
COPY REFERS_TO_anew FROM (MATCH (a:Entity)-[r:REFERS_TO]->(b:Concept) RETURN a.id, b.id, r.namespace);
COPY SAME_AS_anew FROM (
  MATCH (a:Concept)-[r:SAME_AS]->(b:Concept)
  RETURN a.id, b.id, r.id, r.namespace, r.method, r.score, r.created_at, r.undone_at
);
COPY ANSWERS_anew FROM (MATCH (a:Answer)-[r:ANSWERS]->(b:Query) RETURN a.id, b.id, r.namespace);
COPY USED_anew FROM (MATCH (a:Answer)-[r:USED]->(b:Evidence) RETURN a.id, b.id, r.namespace);

DROP TABLE HAS_EVIDENCE;
DROP TABLE MENTIONS;
DROP TABLE GENERATED_BY;
DROP TABLE FROM_CHUNK;
DROP TABLE REFERS_TO;
DROP TABLE SAME_AS;
DROP TABLE ANSWERS;
DROP TABLE USED;
DROP TABLE Query;
DROP TABLE Evidence;
DROP TABLE Concept;
ALTER TABLE Query_anew RENAME TO Query;
ALTER TABLE Evidence_anew RENAME TO Evidence;
ALTER TABLE Concept_anew RENAME TO Concept;
ALTER TABLE HAS_EVIDENCE_anew RENAME TO HAS_EVIDENCE;
ALTER TABLE MENTIONS_anew RENAME TO MENTIONS;
ALTER TABLE GENERATED_BY_anew RENAME TO GENERATED_BY;
ALTER TABLE FROM_CHUNK_anew RENAME TO FROM_CHUNK;
ALTER TABLE REFERS_TO_anew RENAME TO REFERS_TO;
ALTER TABLE SAME_AS_anew RENAME TO SAME_AS;
ALTER TABLE ANSWERS_anew RENAME TO ANSWERS;
ALTER TABLE USED_anew RENAME TO USED;
