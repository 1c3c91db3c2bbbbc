// what: replaces the password of the connected user; runs on the database `system`, the only thing a first login may do
// parameters: old, new
// returns: nothing
ALTER CURRENT USER SET PASSWORD FROM $old TO $new
