// what: lets a linker have the namespace for a while (token 0), or for longer (its token), and gives it up (0 milliseconds). A
//     token is had while no other linker has taken a larger one. The first SET makes others wait
// parameters: namespace, token, milliseconds
// returns: one row: token (0 where another has the namespace), until (milliseconds since 1970, by the server's clock)
MERGE (i:StoreInfo {key: $namespace})
SET i.namespace = $namespace
WITH i, coalesce(i.linker, 0) AS token, coalesce(i.linker_until, 0) AS until
WITH i, token, until, CASE $token WHEN 0 THEN until <= timestamp() ELSE $token = token END AS is_granted
SET
  i.linker = token + CASE WHEN is_granted AND $token = 0 THEN 1 ELSE 0 END,
  i.linker_until = CASE WHEN is_granted THEN timestamp() + $milliseconds ELSE until END
RETURN CASE WHEN is_granted THEN i.linker ELSE 0 END AS token, i.linker_until AS until
