#!/usr/bin/env bash
# Clients of the Agent Client Protocol that nobody here wrote, before `weir acp` (F3, R1): `acpx`, `yopo` and
# the protocol's own library. Every line of both sides is held against the published JSON Schema.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=$root/tests/outside/acp
modules=${WEIR_ACP_NODE:-$cache/acp/node_modules}
node=${WEIR_ACP_NODE_PROGRAM:-$modules/node/bin/node}
schema=$modules/@agentclientprotocol/sdk/schema/v1/schema.json
unstable=$modules/@agentclientprotocol/sdk/schema/v1/schema.unstable.json
yopo=${WEIR_YOPO:-$cache/yopo/bin/yopo}
needs "$weir" "run cargo build -p weir"
needs "$python" "run ./test, which installs it"
needs "$modules/acpx/dist/cli.js" "run ./test, which installs it"
needs "$node" "run ./test, which installs it"
needs "$yopo" "run ./test, which installs it"
weir_home "$scratch/person"
mkdir -p "$XDG_CONFIG_HOME/weir" "$scratch/work"
record=$scratch/record.jsonl

# play SCRIPT: from now on the model plays it, and the record begins anew.
play() {
  { printf 'name: acp\n\n'; cat; } >"$scratch/acp.script"
  printf 'model = "script:%s"\n' "$scratch/acp.script" >"$XDG_CONFIG_HOME/weir/config.toml"
  rm -f "$record" "$scratch"/work/*
}

agent=("$python" "$here/tee.py" "$record" "$weir" acp)
acpx() { timeout 120 "$node" "$modules/acpx/dist/cli.js" --agent "${agent[*]}" --cwd "$scratch/work" "$@"; }
valid() { "$python" "$here/judge.py" "$schema" "$record" "$@"; }

writes() {
  play <<'SCRIPT'
says: I write.
calls: append_to_file {"path": "a.txt", "content": "one\n"}

says: It is written.
SCRIPT
}

# One prompt, everything allowed.
allowed() {
  writes
  acpx --approve-all --format json exec "Write." >"$scratch/out" || { cat "$scratch/out"; return 1; }
  grep -q 'It is written' "$scratch/out" || { cat "$scratch/out"; return 1; }
  [ "$(cat "$scratch/work/a.txt")" = one ] || return 1
  grep -q '"type":"diff"' "$scratch/out" || { cat "$scratch/out"; return 1; }
  valid initialize session/new session/prompt session/request_permission session/update tool_call
}

# One prompt, everything refused: the file is not there, and the agent says what it has to say.
refused() {
  writes
  acpx --deny-all --format json exec "Write." >"$scratch/out" || true
  [ ! -e "$scratch/work/a.txt" ] || return 1
  valid session/request_permission tool_call_update
}

# A session that is kept: prompted, set and closed by commands of their own.
kept() {
  play <<'SCRIPT'
says: Hello.

says: Hello again.
SCRIPT
  acpx --approve-all sessions new || return 1
  acpx --approve-all --format quiet "Hello?" | grep -q 'Hello' || return 1
  acpx set-mode plan || return 1
  acpx --approve-all --format quiet "And now?" | grep -q 'Hello again' || return 1
  acpx sessions close || return 1
  valid session/new session/prompt session/set_mode
}

# The agent is killed between two prompts of a session that is kept, and stopped in a third one.
killed_and_stopped() {
  local try killed between
  play <<'SCRIPT'
says: Hello.

says: Hello again.

error: hang
says: Never.
SCRIPT
  acpx --approve-all sessions new || return 1
  acpx --approve-all --format quiet "Hello?" | grep -q 'Hello' || return 1
  { read -r killed && read -r between; } <"$record.agent" && kill -9 "$killed" || return 1
  # Until the client has noticed: what it sends to a program that has just gone is its own to send again.
  for try in $(seq 300); do
    kill -0 "$between" 2>/dev/null || break
    sleep 0.1
  done
  # Another session would begin with the first words of the script.
  acpx --approve-all --format quiet "And now?" | grep -q 'Hello again' || return 1
  acpx --approve-all --format json "Wait." >"$scratch/out" &
  started+=($!)
  for try in $(seq 300); do
    ! grep -q 'Wait\.' "$record" || break
    sleep 0.1
  done
  acpx cancel || return 1
  wait "${started[-1]}" || { cat "$scratch/out"; return 1; }
  grep -q '"stopReason":"cancelled"' "$scratch/out" || { cat "$scratch/out"; return 1; }
  acpx sessions close || return 1
  valid session/prompt session/resume session/cancel
}

# One prompt by a client in Rust, which says yes to whatever is asked first.
once() {
  writes
  local one=("$python" "$here/tee.py" --cwd "$scratch/work" "$record" "$weir" acp)
  (cd "$scratch/work" && timeout 120 "$yopo" "Write." -- "${one[@]}") >"$scratch/out" 2>&1 ||
    { cat "$scratch/out"; return 1; }
  grep -q 'It is written' "$scratch/out" || { cat "$scratch/out"; return 1; }
  [ "$(cat "$scratch/work/a.txt")" = one ] || return 1
  valid initialize session/new session/prompt session/request_permission tool_call
}

# The protocol's own library, with questions, settings, the end of a turn, and a session that is loaded.
library() {
  play <<'SCRIPT'
says: I write.
calls: append_to_file {"path": "a.txt", "content": "one\n"}

says: It is written.

says: Again.
calls: update_todo_list {"items": [{"text": "Write twice", "status": "in_progress"}]}
calls: append_to_file {"path": "a.txt", "content": "two\n"}

says: Twice.

error: hang
says: Never.
SCRIPT
  cp "$here/client.mjs" "$here/editor.mjs" "$scratch"
  ln -sfn "$modules" "$scratch/node_modules"
  timeout 120 "$node" "$scratch/client.mjs" "$scratch/work" "${agent[@]}" || return 1
  valid session/load session/resume session/list session/close session/cancel session/set_config_option \
    plan usage_update current_mode_update available_commands_update user_message_chunk
}

# The same library with what an editor brings: folders, a server, and sessions that it copies and deletes. The
# copy is not in the stable protocol yet.
brought() {
  play <<'SCRIPT'
says: I look.
calls: mcp__sh__look {}

says: It is looked at.
calls: append_to_file {"path": "LIB/b.txt", "content": "two\n"}

says: And written.
SCRIPT
  mkdir -p "$scratch/lib"
  sed -i "s|LIB|$scratch/lib|" "$scratch/acp.script"
  # Of what is not installed, the sandbox sees the workspace.
  cp "$here/server.sh" "$scratch/work"
  cp "$here/brought.mjs" "$here/editor.mjs" "$scratch"
  ln -sfn "$modules" "$scratch/node_modules"
  timeout 120 "$node" "$scratch/brought.mjs" "$scratch" "${agent[@]}" || return 1
  [ "$(cat "$scratch/lib/b.txt")" = two ] || return 1
  "$python" "$here/judge.py" "$unstable" "$record" session/new session/fork session/delete session/list \
    session/request_permission session/load tool_call tool_call_update
}

# The same library as an editor that has files and terminals of its own.
own() {
  play <<'SCRIPT'
calls: append_to_file {"path": "note.txt", "content": "more\n"}

says: It is appended.

calls: run_shell {"command": "echo one; sleep 1; echo two"}

says: It ran.
SCRIPT
  printf 'saved\n' >"$scratch/work/note.txt"
  cp "$here/own.mjs" "$here/editor.mjs" "$scratch"
  ln -sfn "$modules" "$scratch/node_modules"
  timeout 120 "$node" "$scratch/own.mjs" "$scratch/work" "${agent[@]}" || return 1
  valid fs/read_text_file fs/write_text_file terminal/create terminal/wait_for_exit terminal/release
}

# The same library as an editor with forms and pages, which shows how the context is made shorter.
asks() {
  local name
  play <<'SCRIPT'
calls: ask_followup_question {"question": "Which colours?", "options": ["red", "blue"], "multiple": true}

expect: result "red, blue"
calls: ask_followup_question {"question": "And why?"}

expect: result "I like it."
calls: mcp__asking__order {}

calls: read_file {"path": "a.txt"}

calls: read_file {"path": "b.txt"}

calls: read_file {"path": "c.txt"}

says: Thanks.

says: A dot.
SCRIPT
  printf 'says: <summary>Questions and files.</summary>\n' >"$scratch/helper.script"
  printf '[helpers]\ncondense = "script:%s"\n' "$scratch/helper.script" >>"$XDG_CONFIG_HOME/weir/config.toml"
  for name in a b c; do
    seq -f "$name has line %g" 60 >"$scratch/work/$name.txt"
  done
  cp "$here/asking.sh" "$scratch/work"
  (cd "$scratch/work" && "$weir" mcp-servers add asking --yes -- /bin/sh asking.sh) || return 1
  cp "$here/asks.mjs" "$here/editor.mjs" "$scratch"
  ln -sfn "$modules" "$scratch/node_modules"
  timeout 120 "$node" "$scratch/asks.mjs" "$scratch/work" "${agent[@]}" || return 1
  valid elicitation/create elicitation/complete session/load session_info_update compaction_update \
    compaction_summary_chunk user_message_chunk tool_call_update
}

checked "acpx: a prompt with everything allowed" allowed
checked "acpx: a prompt with everything refused" refused
checked "acpx: a session that is kept" kept
checked "acpx: the agent is killed between prompts, and a prompt is stopped" killed_and_stopped
checked "yopo: a prompt with everything allowed" once
checked "the protocol's library: a session from beginning to end, and loaded" library
checked "the protocol's library: files and terminals of the editor's own" own
checked "the protocol's library: forms, a page, commands that are typed, a context made shorter, an image" asks
checked "the protocol's library: folders, a server, a copy and the end of a session" brought
closing acp
