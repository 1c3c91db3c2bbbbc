#!/usr/bin/env bash
# Runs four sites and a cloud as processes on this machine. Each site reads its own documents, one site asks ten questions, and the
# audit of an answer asks the site that released its lines. No model, no key, no network: rules, `lexical` and `nearest`.
#
# Requires drag-graph on the path, with the extra `service`. The stores stay in the folder demo-edges (DEMO=FOLDER for another).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${DEMO:-demo-edges}
sites=(bakery harbour observatory orchard)
asking=bakery

settings='embedder = "lexical"
student = "nearest"
privacy = "off" # these documents are fictitious; without this line, the extra `privacy` is required'
umask 077 # tokens pass through files
command -v drag-graph >/dev/null || { echo "drag-graph is not on the path" >&2; exit 2; }
[ ! -e "$folder" ] || [ -e "$folder/cloud.out" ] || { echo "$folder exists and is not from this script: set DEMO to another folder" >&2; exit 2; }
rm -rf "$folder"
for name in cloud "${sites[@]}"; do
  mkdir -p "$folder/$name"
  echo "$settings" >"$folder/$name/drag-graph.toml"
done
folder=$(cd "$folder" && pwd)
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT

run() { # NAME ARGUMENTS...: run a command of drag-graph in the folder of a site or of the cloud
  local name=$1
  shift
  printf '\n%s$ drag-graph %s\n' "$name" "$*" >&2
  (cd "$folder/$name" && drag-graph "$@")
}

serve() { # NAME ARGUMENTS...: run it in the background until this script ends
  local name=$1
  shift
  printf '\n%s$ drag-graph %s &\n' "$name" "$*" >&2
  (cd "$folder/$name" && exec drag-graph "$@") >"$folder/$name.out" 2>"$folder/$name.log" &
}

until_says() { # FILE WORDS: wait until a process has printed these words
  for _ in $(seq 1200); do
    if grep -qs "$2" "$1"; then return; fi
    sleep 0.1
  done
  printf 'Not within two minutes: %s in %s\n' "$2" "$1" >&2
  cat "$folder"/*.log >&2
  return 1
}

read_in() { # NAME: read the documents of a site, and summarise the communities of its graph
  cp -r "$here/documents/$1" "$folder/$1/documents"
  run "$1" ingest documents
  run "$1" communities
}

for site in "${sites[@]}"; do
  read_in "$site" >"$folder/$site.ingest" &
  readers+=($!)
done
for site in "${sites[@]}"; do run cloud cloud edges add "$site" >"$folder/$site.token"; done
for reader in "${readers[@]}"; do wait "$reader"; done

serve cloud cloud serve --port 0 --json
until_says "$folder/cloud.out" '}'
address=$(sed -n 's/.*"address": "\(.*\)",/\1/p' "$folder/cloud.out")
for site in "${sites[@]}"; do
  run "$site" edge init --cloud "$address" --name "$site" --release passages --never-leave 'staff-*' <"$folder/$site.token"
  rm "$folder/$site.token"
  serve "$site" edge serve
done
for site in "${sites[@]}"; do until_says "$folder/$site.log" connected; done

cp "$here/questions.jsonl" "$folder/$asking/"
run "$asking" ask --file questions.jsonl | tee "$folder/answers"
run "$asking" audit "$(awk '$2 == "cepheid" { print $1 }' "$folder/answers")"
echo "The cloud and the sites end now. Their stores stay in $folder." >&2
