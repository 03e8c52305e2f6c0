#!/usr/bin/env bash
# The files of examples/ do what examples/README.md says.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
needs "$python" "run ./test, which installs it"
needs "$weir" "run cargo build -p weir"
examples=$root/examples
weir_home "$scratch"
mkdir -p "$XDG_CONFIG_HOME/weir/profiles" "$scratch/work"
cp "$examples/config.toml" "$XDG_CONFIG_HOME/weir/config.toml"
cp "$examples/reviewer.md" "$XDG_CONFIG_HOME/weir/profiles/reviewer.md"
printf 'colour: red\n' >"$scratch/work/notes.md"

tour() {
  "$weir" run -C "$scratch/work" -m "script:$examples/tour.script" --permission auto-edit \
    --allow 'Shell(cat:*)' --output json --output-schema "$examples/answer.schema.json" \
    "Make it blue." </dev/null >"$scratch/out.json" || { cat "$scratch/out.json"; return 1; }
  grep -qx 'colour: blue' "$scratch/work/notes.md" || return 1
  "$python" - "$scratch/out.json" <<'PYTHON'
import json, sys
event = json.load(open(sys.argv[1]))
assert event["status"] == "completed", event
assert event["output"] == {"colour": "blue", "files": ["notes.md"]}, event["output"]
assert [d["tool"] for d in event["denials"]] == ["run_shell"], event["denials"]
PYTHON
}

undo() {
  "$weir" undo -C "$scratch/work" || return 1
  grep -qx 'colour: red' "$scratch/work/notes.md"
}

profile() {
  "$weir" profiles show reviewer --json | grep -q '"plan"' || return 1
  "$weir" permissions explain write_file '{"path": "a", "content": "b"}' --profile reviewer \
    -C "$scratch/work" --json | grep -q '"deny"'
}

settings() {
  "$weir" config get limits.budget_tokens -C "$scratch/work" | grep -q 2000000 || return 1
  "$weir" permissions list -C "$scratch/work" | grep -q 'Shell(git push:\*)'
}

checked "the tour changes the note, is refused what it must be, and answers by the schema" tour
checked "the tour can be undone" undo
checked "the reviewer cannot write" profile
checked "the settings are read" settings
closing examples
