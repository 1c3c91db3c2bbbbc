// what: erases everything of a namespace, by the labels that the product writes
// parameters: namespace
// returns: nothing
MATCH (n:Query|Evidence|Entity|TeacherCall|Answer|Concept|StoreInfo {namespace: $namespace})
DETACH DELETE n
