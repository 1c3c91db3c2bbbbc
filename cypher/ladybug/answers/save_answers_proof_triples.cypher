// what: which triples queries have, for answers that rest on it
// parameters: ids (of queries)
// returns: one row a triple: id
UNWIND $ids AS id
MATCH (q:Query|Document {id: id})-[:MENTIONS]->(:Entity)-[t:TRIPLE]->(:Entity)
RETURN t.id AS id
