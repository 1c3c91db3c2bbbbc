// what: makes the key unique that upgraders lock, so that two of them can never lock one node each. It is no part of a migration,
//     because the first migration is locked, too
// parameters: none
// returns: nothing
CREATE CONSTRAINT migration_lock_key IF NOT EXISTS FOR (n:MigrationLock) REQUIRE n.key IS UNIQUE
