#!/usr/bin/env bash
# `weir mcp` under the official MCP Inspector (R2): its strict look at every tool, and what a client does:
# calls, prompts, resources. What is changed by it is undone and stands in the audit. Then `/mcp` of `weir
# serve` over HTTP with a token of its own: the strict look, calls, prompts, resources, and a token that is
# revoked.
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
  look "$method" ${flags[@]+"${flags[@]}"}
}

# look METHOD [FLAG…]: the same at the server that stands in servers.json.
look() {
  timeout 120 "$node" "$inspector/$started_by" --cli --config "$scratch/servers.json" --server weir \
    --method "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
}

# says FILE WORDS…: each of them stands in what the Inspector printed.
says() {
  local file=$1 words
  shift
  for words in "$@"; do
    grep -qF -- "$words" "$scratch/$file" || { cat "$scratch/out" "$scratch/err"; return 1; }
  done
}

# strict HOW: HOW is `inspect` or `look`.
strict() {
  "$1" tools/list --strict || { cat "$scratch/err"; return 1; }
  says out '"read_file"' '"run_shell"' '"readOnlyHint": true' || return 1
  # It names every problem that it finds there.
  ! grep -qiE 'error|warning|portab' "$scratch/err" || { cat "$scratch/err"; return 1; }
}

reads() { "$1" tools/call --tool-name read_file --tool-arg path=notes.md && says out 'colour: red'; }

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
  "$1" prompts/list && says out '"name": "review"' || return 1
  "$1" prompts/get --prompt-name review && says out '"role": "user"'
}

resources() {
  "$1" resources/list && says out 'weir://files' 'weir://session' || return 1
  "$1" resources/templates/list && says out 'file:///{+path}' || return 1
  "$1" resources/read --uri "file://$work/notes.md" && says out 'colour: red'
}

# serve: a server of the person's, and a token of an account that is good for `/mcp` alone.
serve() {
  local port
  port=$(free_port)
  base=http://127.0.0.1:$port
  printf '%s\n' 'a horse of another colour' >"$scratch/password"
  chmod 600 "$scratch/password"
  "$weir" serve -C "$work" --bind "127.0.0.1:$port" --first-admin admin \
    --password-file "$scratch/password" </dev/null 2>"$scratch/serve.log" &
  started+=($!)
  wait_for "$base/healthz" || { cat "$scratch/serve.log"; return 1; }
  account token >"$scratch/token"
}

# account token: makes one and prints it. account revoke: revokes those that there are.
account() {
  "$python" - "$base" "$scratch/password" "$1" <<'PYTHON'
import http.cookiejar, json, sys, urllib.request
base, password, what = sys.argv[1:]
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
def call(method, path, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", "origin": base, **headers}
    answer = opener.open(urllib.request.Request(base + "/api/v1" + path, data, headers, method=method)).read()
    return json.loads(answer) if answer.strip() else None
call("POST", "/login", {"name": "admin", "password": open(password).read().strip()})
csrf = {"x-csrf-token": call("GET", "/me")["csrf"]}
if what == "token":
    print(call("POST", "/account/tokens", {"name": "inspector", "scope": "mcp"}, **csrf)["token"])
else:
    for token in call("GET", "/account/tokens")["items"]:
        call("DELETE", f"/account/tokens/{token['id']}", **csrf)
PYTHON
}

# by_http: what `look` looks at from now on.
by_http() {
  printf '{"mcpServers": {"weir": {"type": "streamable-http", "url": "%s/mcp", "headers": {"Authorization": "Bearer %s"}}}}' \
    "$base" "$(cat "$scratch/token")" >"$scratch/servers.json"
}

revoked() {
  account revoke || return 1
  ! look tools/list || { cat "$scratch/out"; return 1; }
  ! grep -qF '"read_file"' "$scratch/out"
}

checked "the Inspector's strict look finds nothing" strict inspect
checked "a tool is called" reads inspect
checked "what asks is refused where nobody is to be asked" refused
checked "what was written is undone, and the audit holds" written_and_undone
checked "prompts are listed and read" prompts inspect
checked "resources are listed and read" resources inspect
checked "/mcp: a server is started, and a token made" serve
# What asks waits there for a person elsewhere, so only what asks nobody is called.
by_http
checked "/mcp: the Inspector's strict look finds nothing" strict look
checked "/mcp: a tool is called" reads look
checked "/mcp: prompts are listed and read" prompts look
checked "/mcp: resources are listed and read" resources look
checked "/mcp: a token that is revoked is refused" revoked
closing mcp_serving
