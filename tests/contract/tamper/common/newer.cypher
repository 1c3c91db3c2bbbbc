// what: records a migration that no code knows
// parameters: none
// returns: nothing
CREATE (:Migration {version: 9999, name: 'future', checksum: 'unknown', applied_at: '2099-01-01T00:00:00+00:00'})
