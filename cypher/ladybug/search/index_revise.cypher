// what: gives a namespace a new revision: of its sources, and of its concepts where `links` is not empty
// parameters: key, revision, links
// returns: nothing
MERGE (i:StoreInfo {key: $key})
SET i.revision = $revision, i.links = CASE WHEN $links = '' THEN coalesce(i.links, '') ELSE $links END
