// what: how many pages the file has, and which of these are free for what is stored next, as of the last checkpoint. The file on
//     the disk may be longer: free pages at its end are no part of it any more
// parameters: none
// returns: one row a run of pages: is_free, num_pages
CALL file_info() RETURN false AS is_free, num_pages
UNION ALL
CALL fsm_info() RETURN true AS is_free, num_pages
