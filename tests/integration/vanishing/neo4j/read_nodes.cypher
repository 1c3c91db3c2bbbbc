// what: finds the nodes first, and reads of them only then, as the caller takes the rows
// parameters: namespace
// returns: one row a node: n
MATCH (v:Vanishing)
WHERE v.namespace = $namespace
WITH collect(v) AS found
UNWIND found AS v
RETURN v.n AS n
