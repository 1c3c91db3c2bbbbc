// what: erases all nodes of a namespace, in transactions of 2000 nodes; auto-commit only
// parameters: namespace
// returns: nothing
MATCH (n)
WHERE n.namespace = $namespace
CALL (n) {
  DETACH DELETE n
} IN TRANSACTIONS OF 2000 ROWS
