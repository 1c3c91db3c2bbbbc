// How a query's simple edges were made: strategy, merge, threshold, top_k. Known, they can be made again after part of the
// subgraph was erased (docs/adr/0016-erasing.md); of queries that were stored before it is not known. A property needs no
// declaration here, so there is nothing to do: the number is that of the embedded engine's migration.
RETURN 'Query.aggregation' AS property;
