// what: gives concepts that only kept a judgement their names again, as entities refer to them again, from maps: id, key, name
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
WHERE c.name = ''
SET c.key = r.key, c.name = r.name
