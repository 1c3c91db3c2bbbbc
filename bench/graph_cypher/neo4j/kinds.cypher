// what: what a stored query and all that hangs on it are made of, to hold the raw side to what the product writes
// parameters: source_id
// returns: one row a kind of node or relationship: kind (labels or a type), names (of its properties)
MATCH p = (:Source {id: $source_id})-[*1..2]->()
UNWIND [n IN nodes(p) | [labels(n), keys(n)]] + [r IN relationships(p) | [[type(r)], keys(r)]] AS thing
UNWIND thing[1] AS name
WITH DISTINCT thing[0] AS kind, name
ORDER BY name
RETURN kind, collect(name) AS names
