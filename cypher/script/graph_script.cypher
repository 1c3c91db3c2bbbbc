// The statements of `export --format cypher` (drag_graph/report/graph_formats.py), one a paragraph: before the nodes, some nodes of one
// label, some relationships of one type, after the relationships. NAME is replaced with the label or type, ROWS with a list of literals.

CREATE CONSTRAINT drag_graph_import IF NOT EXISTS FOR (n:DragGraphImport) REQUIRE n.id IS UNIQUE;

UNWIND ROWS AS row
CREATE (n:NAME:DragGraphImport)
SET n = row;

UNWIND ROWS AS row
MATCH (a:DragGraphImport {id: row[0]})
MATCH (b:DragGraphImport {id: row[1]})
CREATE (a)-[r:NAME]->(b)
SET r = row[2];

MATCH (n:DragGraphImport)
CALL (n) {
  REMOVE n:DragGraphImport
} IN TRANSACTIONS OF 10000 ROWS;
DROP CONSTRAINT drag_graph_import;
