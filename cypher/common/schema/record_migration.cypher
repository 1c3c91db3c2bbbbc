// what: remembers that a migration was applied; one that is remembered already stays as it is
// parameters: version, name, checksum, applied_at
// returns: nothing
MERGE (m:Migration {version: $version})
ON CREATE SET m.name = $name, m.checksum = $checksum, m.applied_at = $applied_at
