"""The public contract of labels, types and properties (docs/reference/graph.md), written down once more to test against."""

NODES = {
    "Query": "id text options domain complexity status blind created_at expires_at",
    "Evidence": "id source_id text framing position cosine llm_score score rank kept created_at",
    "Entity": "id source_id name type",
    "TeacherCall": "id stage model prompt_version request_sha256 response_sha256 tokens_in tokens_out cost_usd latency_ms "
    "created_at follows",
    "Answer": "id text label gold correct confidence mode student lines edge_ids prompt_tokens latency_ms created_at",
}
EDGES = {
    "TRIPLE": "id source_id predicate predicate_key confidence evidence_id call_ids rank",
    "RELATED": "id source_id statement predicates confidence support triple_ids evidence_ids rank",
}
LINKS = ("HAS_EVIDENCE", "MENTIONS", "GENERATED_BY", "ANSWERS", "USED")

LABELS = (*NODES, "Chunk", "Document", "Concept", "Community")
TYPES = (*EDGES, *LINKS, "FROM_CHUNK", "HAS_CHUNK", "REFERS_TO", "SAME_AS", "IN_COMMUNITY")
