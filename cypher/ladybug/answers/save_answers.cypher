// what: writes answers from maps of their properties
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
CREATE (:Answer {
  namespace: $namespace, id: r.id, question: r.question, `options`: r.`options`[2:], source_ids: r.source_ids[2:], text: r.text,
  label: r.label, gold: r.gold, correct: r.correct, confidence: r.confidence, mode: r.mode, student: r.student,
  line_json: r.line_json, prompt_tokens: r.prompt_tokens, latency_ms: r.latency_ms, created_at: r.created_at,
  lines: r.lines[2:], edge_ids: r.edge_ids[2:], snapshot: r.snapshot
})
