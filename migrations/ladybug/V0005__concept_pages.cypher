// The embedded engine has no secondary indexes, so there is nothing to do: the number is that of Neo4j's migration.
RETURN 'Concept.id' AS property;
