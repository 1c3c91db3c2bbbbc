-- Vowel signs of Indian and South-East Asian scripts are marks (M), which the tokenizer would take for blanks.
CREATE TABLE state (revision TEXT NOT NULL, links TEXT NOT NULL);
CREATE TABLE source (
    id TEXT PRIMARY KEY, revision TEXT NOT NULL, is_document INTEGER NOT NULL, title TEXT NOT NULL, date TEXT NOT NULL,
    tags TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE unit (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source_id TEXT NOT NULL, position INTEGER NOT NULL, start INTEGER NOT NULL,
    page INTEGER, heading TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX unit_of_source ON unit (source_id);
CREATE TABLE passage (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, unit INTEGER NOT NULL, position INTEGER NOT NULL, start INTEGER NOT NULL,
    end INTEGER NOT NULL, text TEXT NOT NULL
);
CREATE INDEX passage_of_unit ON passage (unit);
CREATE TABLE fact (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL, unit INTEGER NOT NULL, evidence_id TEXT NOT NULL, subject_id TEXT NOT NULL,
    subject TEXT NOT NULL, subject_node TEXT NOT NULL, predicate TEXT NOT NULL, object_id TEXT NOT NULL, object TEXT NOT NULL,
    object_node TEXT NOT NULL, confidence REAL NOT NULL, predicate_key TEXT NOT NULL
);
CREATE INDEX fact_of_unit ON fact (unit);
CREATE INDEX fact_of_subject ON fact (subject_node, confidence DESC, subject, predicate, object, id);
CREATE INDEX fact_of_object ON fact (object_node, confidence DESC, subject, predicate, object, id);
CREATE VIRTUAL TABLE unit_terms USING fts5 (terms, tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* Co'");
CREATE VIRTUAL TABLE passage_terms USING fts5 (terms, tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* Co'");
CREATE VIRTUAL TABLE unit_vocabulary USING fts5vocab (unit_terms, row);
CREATE VIRTUAL TABLE passage_vocabulary USING fts5vocab (passage_terms, row)
