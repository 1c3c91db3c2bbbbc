// Full text of evidence, and of chunks and questions. `terms` has what an index by plain words does not find: title and headings
// of a chunk, pairs of characters of scripts without spaces, parts of names (drag_graph/graph/search_terms.py). An index is of all
// namespaces, so a search names the namespace, and the sources if these are few.
CREATE FULLTEXT INDEX evidence_text IF NOT EXISTS FOR (n:Evidence) ON EACH [n.text, n.terms, n.namespace, n.source_id]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'standard-folding'}};
CREATE FULLTEXT INDEX unit_text IF NOT EXISTS FOR (n:Chunk|Query) ON EACH [n.text, n.terms, n.namespace, n.source_id, n.id]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'standard-folding'}};
// Triples by their evidence.
CREATE INDEX triple_evidence_id IF NOT EXISTS FOR ()-[r:TRIPLE]-() ON (r.evidence_id);
