// what: reads the revision of a namespace's sources, and that of its concepts
// parameters: key
// returns: at most one row: revision, links
MATCH (i:StoreInfo {key: $key})
RETURN coalesce(i.revision, '') AS revision, coalesce(i.links, '') AS links
