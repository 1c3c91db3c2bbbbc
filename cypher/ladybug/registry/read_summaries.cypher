// what: reads summaries with the names of their sites
// parameters: namespace, ids
// returns: one row per summary: id, site_id, site (its name), key, text
UNWIND $ids AS id
MATCH (s:Summary {id: id})
WHERE s.namespace = $namespace
MATCH (e:Edge {id: s.edge_id})
RETURN s.id AS id, e.id AS site_id, e.name AS site, s.key AS key, s.text AS text
