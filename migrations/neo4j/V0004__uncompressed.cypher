// The embedded engine lost vectors that are mostly zeros where it compressed their tables, so that these are made anew there
// (docs/adr/0018-uncompressed.md). Nothing was lost here, so there is nothing to do: the number is that of the embedded engine's
// migration.
RETURN 'Query.embedding' AS property;
