// what: the triples of a query between its entities
// parameters: query_id
// returns: one row a triple: source, target, predicate, id
MATCH (q:Query {id: $query_id})-[:MENTIONS]->(s:Entity)-[t:TRIPLE]->(o:Entity)
RETURN s.id AS source, o.id AS target, t.predicate AS predicate, t.id AS id
