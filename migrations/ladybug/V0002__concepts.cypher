// What is asked across queries (docs/adr/0015). A concept is one normal name; SAME_AS says that two are one thing, and `cluster` is
// what the standing SAME_AS relationships make of it: the id of the concept that stands for all.
ALTER TABLE Concept ADD key STRING;
ALTER TABLE Concept ADD cluster STRING;
ALTER TABLE Concept ADD entities INT64;
ALTER TABLE Evidence ADD embedding FLOAT[];
CREATE REL TABLE SAME_AS (
  FROM Concept TO Concept, id STRING, namespace STRING, method STRING, score DOUBLE, created_at STRING, undone_at STRING
);
