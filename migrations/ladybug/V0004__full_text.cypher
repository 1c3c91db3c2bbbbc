// `revision` of a source changes whenever anything of its subgraph does, that of a namespace with any of its sources, and `links` with
// its concepts: the full-text index next to the store is brought up to date by these (drag_graph/stores/ladybug/text_index.py).
ALTER TABLE Source ADD revision STRING;
ALTER TABLE StoreInfo ADD revision STRING;
ALTER TABLE StoreInfo ADD links STRING;
