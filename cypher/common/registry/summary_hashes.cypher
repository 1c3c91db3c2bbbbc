// what: reads the hashes of the summaries of a site
// parameters: namespace, site_id
// returns: one row per summary: key, hash
MATCH (e:Edge {id: $site_id})-[:HAS_SUMMARY]->(s:Summary)
WHERE e.namespace = $namespace
RETURN s.key AS key, s.hash AS hash
