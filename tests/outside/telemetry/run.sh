#!/usr/bin/env bash
# Traces of `weir run` against OpenTelemetry's own list of names (F6).
#
# WEIR_PYTHON names an interpreter that has requirements.txt; else one is made in the cache.

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

here=$root/tests/outside/telemetry
needs "$weir" "cargo build -p weir"
if [ -z "${WEIR_PYTHON:-}" ]; then
  python=$cache/telemetry/bin/python
  if [ ! -x "$python" ] || ! "$python" -c 'import opentelemetry.semconv, opentelemetry.proto' 2>/dev/null; then
    python3 -m venv "$cache/telemetry"
    "$python" -m pip -q install -r "$here/requirements.txt"
  fi
fi

weir_home "$scratch"
mkdir -p "$XDG_CONFIG_HOME/weir" "$scratch/work"
printf 'apricot\n' >"$scratch/work/notes.md"
printf 'name: t\n\nsays: Let me look.\ncalls: read_file {"path": "notes.md"}\n\nsays: It is quince.\n' \
  >"$scratch/trace.script"
port=$(free_port)
"$python" "$here/check.py" serve "$port" "$scratch/spans.jsonl" &
started+=($!)
wait_for "http://127.0.0.1:$port/"

traced() {
  : >"$scratch/spans.jsonl"
  printf 'model = "script:%s"\n[telemetry]\notlp_endpoint = "http://127.0.0.1:%s"\ncontent = %s\n' \
    "$scratch/trace.script" "$port" "$1" >"$XDG_CONFIG_HOME/weir/config.toml"
  "$weir" run -C "$scratch/work" "what is in the notes about plum?"
}
plain() { traced false && "$python" "$here/check.py" judge "$scratch/spans.jsonl"; }
with_content() { traced true && "$python" "$here/check.py" judge "$scratch/spans.jsonl" content; }

checked "names and places of spans, no content" plain
checked "content where it is asked for" with_content
closing telemetry
