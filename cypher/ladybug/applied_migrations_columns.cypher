// what: the columns of the tables that migration 4 makes anew, and of the new ones; a name cannot be a parameter there
// parameters: none
// returns: one row a column: label, is_anew, name
CALL table_info('Query') RETURN 'Query' AS label, false AS is_anew, name
UNION ALL
CALL table_info('Query_anew') RETURN 'Query' AS label, true AS is_anew, name
UNION ALL
CALL table_info('Evidence') RETURN 'Evidence' AS label, false AS is_anew, name
UNION ALL
CALL table_info('Evidence_anew') RETURN 'Evidence' AS label, true AS is_anew, name
UNION ALL
CALL table_info('Concept') RETURN 'Concept' AS label, false AS is_anew, name
UNION ALL
CALL table_info('Concept_anew') RETURN 'Concept' AS label, true AS is_anew, name
UNION ALL
CALL table_info('HAS_EVIDENCE') RETURN 'HAS_EVIDENCE' AS label, false AS is_anew, name
UNION ALL
CALL table_info('HAS_EVIDENCE_anew') RETURN 'HAS_EVIDENCE' AS label, true AS is_anew, name
UNION ALL
CALL table_info('MENTIONS') RETURN 'MENTIONS' AS label, false AS is_anew, name
UNION ALL
CALL table_info('MENTIONS_anew') RETURN 'MENTIONS' AS label, true AS is_anew, name
UNION ALL
CALL table_info('GENERATED_BY') RETURN 'GENERATED_BY' AS label, false AS is_anew, name
UNION ALL
CALL table_info('GENERATED_BY_anew') RETURN 'GENERATED_BY' AS label, true AS is_anew, name
UNION ALL
CALL table_info('FROM_CHUNK') RETURN 'FROM_CHUNK' AS label, false AS is_anew, name
UNION ALL
CALL table_info('FROM_CHUNK_anew') RETURN 'FROM_CHUNK' AS label, true AS is_anew, name
UNION ALL
CALL table_info('REFERS_TO') RETURN 'REFERS_TO' AS label, false AS is_anew, name
UNION ALL
CALL table_info('REFERS_TO_anew') RETURN 'REFERS_TO' AS label, true AS is_anew, name
UNION ALL
CALL table_info('SAME_AS') RETURN 'SAME_AS' AS label, false AS is_anew, name
UNION ALL
CALL table_info('SAME_AS_anew') RETURN 'SAME_AS' AS label, true AS is_anew, name
UNION ALL
CALL table_info('ANSWERS') RETURN 'ANSWERS' AS label, false AS is_anew, name
UNION ALL
CALL table_info('ANSWERS_anew') RETURN 'ANSWERS' AS label, true AS is_anew, name
UNION ALL
CALL table_info('USED') RETURN 'USED' AS label, false AS is_anew, name
UNION ALL
CALL table_info('USED_anew') RETURN 'USED' AS label, true AS is_anew, name
