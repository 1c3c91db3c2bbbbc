#!/usr/bin/env bash
# Four edges and a cloud as processes on this machine: each edge reads in its own documents, one asks ten questions, and the audit
# of an answer goes on at the edge that its lines are from. No model, no key, no network: rules, `lexical` and `nearest`.
#
# It needs drag-graph on the path, with its extra `serve`, and makes the folder demo-edges (DEMO=FOLDER: another), in which it leaves
# what was stored.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${DEMO:-demo-edges}
edges=(bakery harbour observatory orchard)
asking=bakery

settings='embedder = "lexical"
student = "nearest"
privacy = "off" # these documents are made up; without this line, the extra `privacy` is needed'
umask 077 # tokens pass through files
command -v drag-graph >/dev/null || { echo "drag-graph is not on the path" >&2; exit 2; }
[ ! -e "$folder" ] || [ -e "$folder/cloud.out" ] || { echo "$folder is there, and not from this script: set DEMO to another" >&2; exit 2; }
rm -rf "$folder"
for name in cloud "${edges[@]}"; do
  mkdir -p "$folder/$name"
  echo "$settings" >"$folder/$name/drag-graph.toml"
done
folder=$(cd "$folder" && pwd)
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT

run() { # NAME ARGUMENTS...: a command of drag-graph in the folder of an edge, or of the cloud
  local name=$1
  shift
  printf '\n%s$ drag-graph %s\n' "$name" "$*" >&2
  (cd "$folder/$name" && drag-graph "$@")
}

serve() { # NAME ARGUMENTS...: the same in the background, until this script ends
  local name=$1
  shift
  printf '\n%s$ drag-graph %s &\n' "$name" "$*" >&2
  (cd "$folder/$name" && exec drag-graph "$@") >"$folder/$name.out" 2>"$folder/$name.log" &
}

until_says() { # FILE WORDS: wait until a process has said it
  for _ in $(seq 1200); do
    if grep -qs "$2" "$1"; then return; fi
    sleep 0.1
  done
  printf 'Not within two minutes: %s in %s\n' "$2" "$1" >&2
  cat "$folder"/*.log >&2
  return 1
}

read_in() { # NAME: the documents of an edge become a graph, and parts of it are summarised
  cp -r "$here/documents/$1" "$folder/$1/documents"
  run "$1" ingest documents
  run "$1" communities
}

for edge in "${edges[@]}"; do
  read_in "$edge" >"$folder/$edge.ingest" &
  readers+=($!)
done
for edge in "${edges[@]}"; do run cloud cloud edges add "$edge" >"$folder/$edge.token"; done
for reader in "${readers[@]}"; do wait "$reader"; done

serve cloud cloud serve --port 0 --json
until_says "$folder/cloud.out" '}'
address=$(sed -n 's/.*"address": "\(.*\)",/\1/p' "$folder/cloud.out")
for edge in "${edges[@]}"; do
  run "$edge" edge init --cloud "$address" --name "$edge" --release passages --never-leave 'staff-*' <"$folder/$edge.token"
  rm "$folder/$edge.token"
  serve "$edge" edge serve
done
for edge in "${edges[@]}"; do until_says "$folder/$edge.log" connected; done

cp "$here/questions.jsonl" "$folder/$asking/"
run "$asking" ask --file questions.jsonl | tee "$folder/answers"
run "$asking" audit "$(awk '$2 == "cepheid" { print $1 }' "$folder/answers")"
echo "The cloud and the edges end now. Their folders stay, with what they hold: $folder" >&2
