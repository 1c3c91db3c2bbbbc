// what: lets a linker have the namespace for a while, unless another has it whose time is not over. The first SET makes others wait
// parameters: namespace, holder, instead_of (a holder that is known to be dead, or empty), milliseconds
// returns: one row: holder (empty when it is ours now), until (milliseconds since 1970, by the server's clock)
MERGE (i:StoreInfo {key: $namespace})
SET i.namespace = $namespace
WITH i, coalesce(i.linker, '') AS holder, coalesce(i.linker_until, 0) AS until
WITH i, holder, until, holder IN ['', $holder, $instead_of] OR until < timestamp() AS is_free
SET
  i.linker = CASE WHEN is_free THEN $holder ELSE i.linker END,
  i.linker_until = CASE WHEN is_free THEN timestamp() + $milliseconds ELSE i.linker_until END
RETURN CASE WHEN is_free THEN '' ELSE holder END AS holder, until
