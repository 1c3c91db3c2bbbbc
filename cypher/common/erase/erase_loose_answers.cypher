// what: erases those of these answers that rest on a source that is not stored
// parameters: namespace, ids
// returns: one row an answer that went: id
UNWIND $ids AS id
MATCH (a:Answer {id: id})
WHERE a.namespace = $namespace
UNWIND a.source_ids AS source_id
OPTIONAL MATCH (q:Source {id: source_id})
WITH a, id, count(*) AS named, count(q) AS stored
WHERE stored < named
DETACH DELETE a
RETURN id
