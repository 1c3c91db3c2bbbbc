// what: the migration history of the store
// parameters: none
// returns: one row a migration that was applied: version, name, checksum, applied_at
MATCH (m:Migration)
RETURN m.version AS version, m.name AS name, m.checksum AS checksum, m.applied_at AS applied_at
ORDER BY version
