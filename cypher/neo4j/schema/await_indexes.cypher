// what: finds those of these indexes that are not usable yet
// parameters: names
// returns: one row an index: name, state (POPULATING or FAILED), percent (how far it is filled)
SHOW INDEXES YIELD name, state, populationPercent
WHERE name IN $names AND state <> 'ONLINE'
RETURN name, state, populationPercent AS percent
ORDER BY state, name
