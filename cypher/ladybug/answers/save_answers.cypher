// what: writes answers from maps of their properties
// parameters: rows
// returns: nothing
UNWIND $rows AS r
CREATE (:Answer {
  namespace: r.namespace, id: r.id, question: r.question, `options`: r.`options`, source_ids: r.source_ids, text: r.text,
  label: r.label, gold: r.gold, correct: r.correct, confidence: r.confidence, mode: r.mode, student: r.student,
  line_json: r.line_json, prompt_tokens: r.prompt_tokens, latency_ms: r.latency_ms, created_at: r.created_at,
  lines: r.lines, edge_ids: r.edge_ids, snapshot: r.snapshot
})
