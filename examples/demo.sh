#!/usr/bin/env bash
# What `make demo` runs: the real pipeline on the example questions. The teacher is a file of evidence that people wrote
# (curated), the student is the built-in `nearest`; no key, no server.
set -euo pipefail
bin=${BIN:-.venv/bin}
here=$(cd "$(dirname "$0")" && pwd)
folder=${DEMO:-demo}
[ ! -e "$folder" ] || [ -e "$folder/graph.lbug" ] || { echo "$folder is there, and not from this demo: set DEMO to another" >&2; exit 2; }
rm -rf "$folder"
mkdir -p "$folder"
export DRAG_GRAPH_STORE="$folder/graph.lbug"

run() {
  printf '\n$ drag-graph %s\n' "$*"
  "$bin/drag-graph" "$@"
}

run distill "$here/questions.jsonl" --teacher "curated:$here/curated.jsonl"
run show
run ask --file "$here/questions.jsonl" --mode combined
run ask "Why do antibiotics not cure a common cold?" --option "Colds are caused by viruses" \
  --option "Colds last too short a time" --option "Antibiotics lower fever" --option "Antibiotics need vitamins" --explain
answer=$("$bin/drag-graph" ask "What mainly causes the tides of the oceans on Earth?" --option "The wind" \
  --option "The rotation of the Sun" --option "The gravity of the Moon" --option "Warm currents" --mode graph --json |
  "$bin/python" -c 'import json, sys; print(json.load(sys.stdin)["answer_id"])')
run audit "$answer"
run ask "How do I change the oil of a motorbike?"
"$bin/drag-graph" audit "$answer" --format html -o "$folder/audit.html"
printf '\nOpen %s/audit.html in a web browser for the same audit as a page.\n' "$folder"
