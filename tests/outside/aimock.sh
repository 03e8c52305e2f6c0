#!/usr/bin/env bash
# The main job against a model server that nobody here wrote (npm's @copilotkit/aimock): `weir run`
# reads a note, changes it and says so, in every dialect, on a copy of a workspace. What went over
# the wire is recorded and judged.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
llmock=${WEIR_AIMOCK:-$cache/aimock/node_modules/.bin/llmock}
needs "$llmock" "run ./test, which installs it"
needs "$python" "run ./test, which installs it"
needs "$weir" "run cargo build -p weir"

job() {
  local dialect=$1 at=$scratch/$1 server tee status=0
  mkdir -p "$at/work"
  printf 'name: tea house\ncolour: red\n' >"$at/work/notes.md"
  server=$(free_port)
  AIMOCK_STRICT_TURN_INDEX=1 "$llmock" --strict --validate-on-load --host 127.0.0.1 \
    --port "$server" --fixtures "$root/tests/aimock/main-job.json" --chunk-size 7 \
    >"$at/aimock.log" 2>&1 &
  started+=($!)
  wait_for "http://127.0.0.1:$server/ready"
  tee=$(free_port)
  "$python" "$root/tests/outside/judges/tee.py" "$tee" "$server" "$at/raw.jsonl" >"$at/tee.log" 2>&1 &
  started+=($!)
  wait_for "http://127.0.0.1:$tee/ready"
  weir_home "$at"
  point "$dialect" "$tee"
  "$weir" run -C "$at/work" -m "$model" --permission auto-edit --timeout 5m --output json \
    "Make the colour in notes.md blue." >"$at/out.json" 2>"$at/err.txt" </dev/null || status=$?
  grep -v '"path": "/ready"' "$at/raw.jsonl" >"$at/asked.jsonl" || true
  [ "$status" -eq 0 ] || { printf 'weir run exited with %s\n' "$status"; cat "$at/err.txt" "$at/out.json"; return 1; }
  printf 'name: tea house\ncolour: blue\n' | cmp - "$at/work/notes.md" || return 1
  "$python" - "$at/out.json" "$at/asked.jsonl" <<'PYTHON' || return 1
import json, sys
event = json.load(open(sys.argv[1]))
# What a model can do is asked of Ollama first; this server does not tell, and Weir goes on without.
asked = [a for a in map(json.loads, open(sys.argv[2])) if a["path"] != "/api/show"]
assert event["status"] == "completed", event
assert event["text"] == "The colour in notes.md is blue now.", event["text"]
assert event["changed_files"] == ["notes.md"], event["changed_files"]
assert len(asked) == 3 and all(a["status"] == 200 for a in asked), [(a["path"], a["status"]) for a in asked]
PYTHON
  judges "$at/asked.jsonl"
}

for dialect in "${dialects[@]}"; do
  checked "aimock, $dialect: the note is changed, and nothing is wrong with what was sent" job "$dialect"
done
closing aimock
