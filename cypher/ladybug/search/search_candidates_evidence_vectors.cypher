// what: reads the vectors of the namespace's kept evidence; the caller ranks them, as the engine compares only vectors
//     whose length is declared
// parameters: namespace
// returns: one row a kept evidence that has a vector: id, embedding
MATCH (e:Evidence)
WHERE e.namespace = $namespace AND e.kept AND octet_length(e.embedding) > 0
RETURN e.id AS id, e.embedding AS embedding
