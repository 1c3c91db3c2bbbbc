CREATE TABLE exchanges (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, model TEXT NOT NULL, stage TEXT NOT NULL, prompt_version TEXT NOT NULL,
    reply TEXT, error TEXT
);
CREATE UNIQUE INDEX usable_exchanges ON exchanges (key) WHERE reply IS NOT NULL;
CREATE TABLE calls (
    exchange_id INTEGER NOT NULL, n INTEGER NOT NULL, request_sha256 TEXT NOT NULL, response_sha256 TEXT NOT NULL,
    tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, cost_usd REAL NOT NULL, latency_ms INTEGER NOT NULL,
    created_at TEXT NOT NULL, sent TEXT NOT NULL, raw TEXT NOT NULL, PRIMARY KEY (exchange_id, n)
);
CREATE INDEX calls_of_request ON calls (request_sha256);
CREATE TABLE asked (source_id TEXT NOT NULL, exchange_id INTEGER NOT NULL, PRIMARY KEY (source_id, exchange_id)) WITHOUT ROWID;
CREATE INDEX asked_of_exchange ON asked (exchange_id);
CREATE TABLE runs (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, namespace TEXT NOT NULL, store TEXT NOT NULL, source TEXT NOT NULL,
    job TEXT NOT NULL, teacher TEXT NOT NULL, plan TEXT NOT NULL, started_at TEXT NOT NULL,
    finished_at TEXT NOT NULL DEFAULT '', stopped TEXT NOT NULL DEFAULT '', exit_code INTEGER
);
CREATE TABLE results (
    run_id TEXT NOT NULL, line INTEGER NOT NULL, id TEXT NOT NULL, input_id TEXT NOT NULL, status TEXT NOT NULL,
    settings_hash TEXT NOT NULL, question TEXT NOT NULL, evidence INTEGER NOT NULL DEFAULT 0,
    triples INTEGER NOT NULL DEFAULT 0, edges INTEGER NOT NULL DEFAULT 0, calls INTEGER NOT NULL DEFAULT 0,
    cached_calls INTEGER NOT NULL DEFAULT 0, cost_usd REAL NOT NULL DEFAULT 0, tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0, error TEXT, notes TEXT NOT NULL DEFAULT '[]', erased INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, line)
) WITHOUT ROWID;
CREATE INDEX results_of_source ON results (id, settings_hash, status);
CREATE TABLE spending (job TEXT PRIMARY KEY, nanos INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE reservations (id INTEGER PRIMARY KEY, job TEXT NOT NULL, batch TEXT NOT NULL, nanos INTEGER NOT NULL);
CREATE INDEX reservations_of_job ON reservations (job);
CREATE TABLE batches (
    token TEXT PRIMARY KEY, job TEXT NOT NULL, model TEXT NOT NULL, batch_id TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL, created_at TEXT NOT NULL, document TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;
CREATE INDEX batches_of_job ON batches (job);
CREATE TABLE batch_requests (
    id INTEGER PRIMARY KEY, job TEXT NOT NULL, token TEXT NOT NULL DEFAULT '', key TEXT NOT NULL, source_id TEXT NOT NULL,
    request TEXT NOT NULL, unusable TEXT
);
CREATE INDEX requests_of_batch ON batch_requests (job, token);
