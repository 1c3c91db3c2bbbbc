// what: changes what the evidence of a namespace says
// parameters: namespace
// returns: nothing
MATCH (e:Evidence)
WHERE e.namespace = $namespace
SET e.text = e.text + ' Or so they say.'
