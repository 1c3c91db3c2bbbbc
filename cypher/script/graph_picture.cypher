// The statement of "Open in Neo4j Browser" (drag_graph/report/graph_picture.py). NAMESPACE and IDS are replaced with literals.

MATCH (s:Entity)-[r:RELATED]->(o:Entity)
WHERE r.namespace = NAMESPACE AND r.id IN IDS
RETURN s, r, o
