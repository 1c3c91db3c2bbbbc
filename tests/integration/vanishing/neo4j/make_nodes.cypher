// what: makes many nodes
// parameters: namespace, number
// returns: nothing
UNWIND range(1, $number) AS n
CREATE (:Vanishing {namespace: $namespace, n: n})
