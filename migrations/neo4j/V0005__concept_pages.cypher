// `link` pages through the concepts of one cluster value (those that are open) by id: in the order of this index a page reads no
// more than it returns.
CREATE INDEX concept_page IF NOT EXISTS FOR (n:Concept) ON (n.namespace, n.cluster, n.id);
