#!/usr/bin/env bash
# `weir mcp` under the official MCP Inspector (R2): its strict look at every tool, and what a client does:
# calls, prompts, resources. What is changed by it is undone and stands in the audit.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
modules=${WEIR_MCP_NODE:-$cache/mcp/node_modules}
node=$modules/node/bin/node
inspector=$modules/@modelcontextprotocol/inspector
needs "$weir" "run cargo build -p weir"
needs "$python" "run ./test, which installs it"
needs "$node" "run ./test, which installs it"
needs "$inspector/package.json" "run ./test, which installs it"
weir_home "$scratch/person"
mkdir -p "$XDG_CONFIG_HOME/weir"
# It keeps nothing of ours.
export MCP_INSPECTOR_SECRET_STORE=memory
work=$scratch/work
mkdir -p "$work"
printf 'colour: red\n' >"$work/notes.md"
started_by=$("$node" -p "const bin = require('$inspector/package.json').bin; Object.values(bin)[0]")
export PATH="$(dirname "$node"):$PATH"

# inspect METHOD [FLAG…] -- [FLAG of weir mcp…]: what the Inspector makes of it stands in `out` and `err`.
inspect() {
  local method=$1 flags=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do flags+=("$1"); shift; done
  [ $# -eq 0 ] || shift
  printf '{"mcpServers": {"weir": {"command": "%s", "args": %s, "env": {"XDG_CONFIG_HOME": "%s", "XDG_STATE_HOME": "%s", "HOME": "%s"}}}}' \
    "$weir" "$("$python" -c 'import json, sys; print(json.dumps(sys.argv[1:]))' mcp -C "$work" "$@")" \
    "$XDG_CONFIG_HOME" "$XDG_STATE_HOME" "$HOME" >"$scratch/servers.json"
  timeout 120 "$node" "$inspector/$started_by" --cli --config "$scratch/servers.json" --server weir \
    --method "$method" ${flags[@]+"${flags[@]}"} >"$scratch/out" 2>"$scratch/err" </dev/null
}

# says FILE WORDS…: each of them stands in what the Inspector printed.
says() {
  local file=$1 words
  shift
  for words in "$@"; do
    grep -qF -- "$words" "$scratch/$file" || { cat "$scratch/out" "$scratch/err"; return 1; }
  done
}

strict() {
  inspect tools/list --strict || { cat "$scratch/err"; return 1; }
  says out '"read_file"' '"run_shell"' '"readOnlyHint": true' || return 1
  # It names every problem that it finds there.
  ! grep -qiE 'error|warning|portab' "$scratch/err" || { cat "$scratch/err"; return 1; }
}

reads() { inspect tools/call --tool-name read_file --tool-arg path=notes.md && says out 'colour: red'; }

refused() {
  inspect tools/call --tool-name write_file --tool-arg path=b.md content=x -- --approvals deny || true
  says out '"isError": true' && [ ! -e "$work/b.md" ]
}

written_and_undone() {
  inspect tools/call --tool-name write_file --tool-arg path=b.md content=x -- --permission auto-edit || return 1
  [ "$(cat "$work/b.md")" = x ] || return 1
  "$weir" undo -C "$work" </dev/null && [ ! -e "$work/b.md" ] && "$weir" audit verify </dev/null
}

prompts() {
  inspect prompts/list && says out '"name": "review"' || return 1
  inspect prompts/get --prompt-name review && says out '"role": "user"'
}

resources() {
  inspect resources/list && says out 'weir://files' 'weir://session' || return 1
  inspect resources/templates/list && says out 'file:///{+path}' || return 1
  inspect resources/read --uri "file://$work/notes.md" && says out 'colour: red'
}

checked "the Inspector's strict look finds nothing" strict
checked "a tool is called" reads
checked "what asks is refused where nobody is to be asked" refused
checked "what was written is undone, and the audit holds" written_and_undone
checked "prompts are listed and read" prompts
checked "resources are listed and read" resources
closing mcp_serving
