// what: makes two nodes of every label and two relationships of every type with one id, as no constraint lets it be
// parameters: namespace
// returns: one row a label and type: name
UNWIND ['Query', 'Evidence', 'Entity', 'TeacherCall', 'Chunk', 'Document', 'Concept', 'Answer'] AS label
UNWIND [1, 2] AS copy
CREATE (n:$(label) {id: 'twin-' + label, namespace: $namespace, source_id: 'twin-Query', cluster: '', name: 'twin'})
WITH collect(n) AS made
WITH made, [n IN made WHERE n:Entity] AS ends
UNWIND [1, 2] AS copy
WITH made, ends[0] AS s, ends[1] AS o
CREATE (s)-[:TRIPLE {id: 'twin-TRIPLE', namespace: $namespace, source_id: 'twin-Query'}]->(o)
CREATE (s)-[:RELATED {id: 'twin-RELATED', namespace: $namespace, source_id: 'twin-Query'}]->(o)
WITH DISTINCT made
UNWIND [n IN made | labels(n)[0]] + ['TRIPLE', 'RELATED'] AS name
RETURN DISTINCT name
