#!/usr/bin/env bash
# The real binary on both ends: `weir script serve` over HTTP and `weir run` against it in every
# dialect, recorded and judged. The run reads, edits two files, runs a command, is refused one thing
# and finishes; then it is replayed, its audit chain verified, and undone. A second run says more to
# the same session, with a model of another dialect (V2).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
needs "$python" "run ./test, which installs it"
needs "$weir" "run cargo build -p weir"

serve() {
  local port
  port=$(free_port)
  "$weir" script serve "$root/tests/outside/http_dialects.script" --bind "127.0.0.1:$port" \
    --record "$1" >"$1.log" 2>&1 &
  started+=($!)
  wait_for "http://127.0.0.1:$port/healthz"
  served=$port
}

fill() {
  mkdir -p "$1/src"
  printf 'name: tea house\ncolour: red\n' >"$1/notes.md"
  printf 'pub fn colour() -> &str { "red" }\n' >"$1/src/lib.rs"
}

next_dialect() {
  case $1 in
  anthropic) echo gemini ;;
  gemini) echo openai-responses ;;
  openai-responses) echo openai-chat ;;
  *) echo anthropic ;;
  esac
}

job() {
  local dialect=$1 at=$scratch/$1 status=0
  fill "$at/work"
  fill "$at/before"
  weir_home "$at"
  serve "$at/asked.jsonl"
  point "$dialect" "$served"
  "$weir" run -C "$at/work" -m "$model" --permission auto-edit --allow 'Shell(ls:*)' \
    --deny 'Edit(**/*.lock)' --timeout 5m --output jsonl "Make everything blue." \
    >"$at/out.jsonl" 2>"$at/err.txt" </dev/null || status=$?
  [ "$status" -eq 0 ] || { printf 'weir run exited with %s\n' "$status"; cat "$at/err.txt"; tail -n 3 "$at/out.jsonl"; return 1; }
  grep -q 'colour: blue' "$at/work/notes.md" && grep -q '"blue"' "$at/work/src/lib.rs" || return 1
  [ ! -e "$at/work/Cargo.lock" ] || { echo "a denied write happened"; return 1; }
  "$python" - "$at/out.jsonl" <<'PYTHON' || return 1
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
last = events[-1]
assert last["kind"] == "run.finished" and last["status"] == "completed", last
assert [d["tool"] for d in last["denials"]] == ["write_file"], last["denials"]
assert sorted(last["changed_files"]) == ["notes.md", "src/lib.rs"], last["changed_files"]
assert [e["seq"] for e in events] == list(range(1, len(events) + 1)), "the events have gaps"
PYTHON
  session=$("$python" -c 'import json, sys; print(json.loads(open(sys.argv[1]).readline())["session"])' "$at/out.jsonl")
  "$weir" replay "$session" || return 1
  "$weir" audit verify || return 1
  "$weir" undo -C "$at/work" "$session" || return 1
  diff -r -x .weir "$at/before" "$at/work" || { echo "undo left a difference"; return 1; }
  point "$(next_dialect "$dialect")" "$served"
  "$weir" run -C "$at/work" -m "$model" --resume "$session" --permission auto-edit \
    --timeout 5m "And tell me what is left." </dev/null >"$at/again.txt" 2>"$at/err.txt" ||
    { cat "$at/err.txt"; return 1; }
  grep -q 'Nothing is left.' "$at/again.txt" || { cat "$at/again.txt"; return 1; }
  "$python" - "$at/asked.jsonl" <<'PYTHON' || return 1
import json, sys
asked = [json.loads(line) for line in open(sys.argv[1])]
# Ollama is asked first what its model can do; that is no request to the model.
paths = [a["path"] for a in asked if a["m"] == "POST" and a["path"] != "/api/show"]
assert len(paths) == 6, paths
assert len(set(paths[:5])) == 1 and paths[5] != paths[0], paths
PYTHON
  judges "$at/asked.jsonl"
}

for dialect in "${dialects[@]}"; do
  checked "http, $dialect: the job is done, refused one thing, replayed, audited, undone, gone on with elsewhere" job "$dialect"
done
closing http_dialects
