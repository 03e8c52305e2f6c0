#!/usr/bin/env bash
# The reference servers of the protocol, from npm and PyPI, behind the real program: each is declared
# with `weir mcp-servers add`, approved, started in the sandbox, and used by a scripted model (F4, Z8).
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=$root/tests/outside/mcp
modules=${WEIR_MCP_NODE:-$cache/mcp/node_modules}
venv=${WEIR_MCP_PYTHON:-$cache/mcp-python}
node=$modules/node/bin/node
official=$modules/@modelcontextprotocol
needs "$weir" "run cargo build -p weir"
needs "$python" "run ./test, which installs it"
needs "$node" "run ./test, which installs it"
needs "$venv/bin/mcp-server-git" "run ./test, which installs it"
weir_home "$scratch/person"
mkdir -p "$XDG_CONFIG_HOME/weir"
unset MCP_CONFORMANCE_CONTEXT BROWSER
port=$(free_port)
other=$(free_port)
# Addresses of this machine are closed unless a person lists them, for servers too.
printf '[context]\nexternalize_over = 0\n[web]\nallow_hosts = ["127.0.0.1"]\n' \
  >"$XDG_CONFIG_HOME/weir/config.toml"
base=$("$venv/bin/python" -c 'import sys; print(sys.base_prefix)')
work=$scratch/work
mkdir -p "$work" "$scratch/kept" "$scratch/site"
git -C "$work" init -q -b main
printf 'colour: red\n' >"$work/notes.md"
git -C "$work" add notes.md
git -C "$work" -c user.name=t -c user.email=t@example.org commit -q -m "the harbour is red"
printf 'a draft\n' >"$work/draft.md"
printf '<html><body><h1>Tide table</h1><p>High water at noon.</p></body></html>' >"$scratch/site/index.html"

# add NAME [FLAG…] -- COMMAND…: what a person does.
add() {
  local name=$1
  shift
  "$weir" mcp-servers add "$name" --yes --trust-annotations -C "$work" "$@" </dev/null >"$scratch/$name.txt" ||
    { cat "$scratch/$name.txt"; return 1; }
  grep -q "^$name is approved: " "$scratch/$name.txt" || { cat "$scratch/$name.txt"; return 1; }
}

of_node() {
  local name=$1 server=$2
  shift 2
  local flags=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do flags+=("$1"); shift; done
  [ $# -eq 0 ] || shift
  add "$name" --read "$modules" ${flags[@]+"${flags[@]}"} -- "$node" "$official/$server/dist/index.js" "$@"
}

of_python() {
  local name=$1 server=$2
  shift 2
  local flags=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do flags+=("$1"); shift; done
  [ $# -eq 0 ] || shift
  add "$name" --read "$venv" --read "$base" ${flags[@]+"${flags[@]}"} -- "$venv/bin/$server" "$@"
}

# play NAME [FLAG…]: plays the script on standard input; it fails when an expectation of it does not
# hold, and when anything that it calls is refused.
play() {
  local name=$1
  shift
  { printf 'window: 1000000\n\n'; cat; } >"$scratch/$name.script"
  timeout 300 "$weir" run -C "$work" -m "script:$scratch/$name.script" --permission full \
    --allow "Mcp($name:*)" --strict "$@" "Use the server." </dev/null >"$scratch/$name.out" 2>"$scratch/$name.err" ||
    { cat "$scratch/$name.out" "$scratch/$name.err"; return 1; }
}

everything() {
  play everything <<'SCRIPT'
calls: mcp__everything__echo {"message": "harbour"}
calls: mcp__everything__get-sum {"a": 2, "b": 40}
calls: mcp__everything__get-structured-content {"location": "Chicago"}

expect: result "Echo: harbour"
expect: result "The sum of 2 and 40 is 42"
expect: result "\"conditions\""
calls: mcp__everything__get-tiny-image {}
calls: mcp__everything__get-resource-reference {"resourceType": "Text", "resourceId": 1}
calls: mcp__everything__get-env {}

expect: image
expect: result "demo://resource/dynamic/text/1"
expect-not: body "marker-of-the-person"
says: done
SCRIPT
}

beside_tools() {
  play everything <<'SCRIPT'
calls: find_tool {"query": "read_mcp_tool use_mcp_tool"}

calls: read_mcp_tool {"server": "everything"}
calls: read_mcp_tool {"server": "everything", "resource": "demo://resource/dynamic/text/3"}
calls: read_mcp_tool {"server": "everything", "prompt": "args-prompt", "arguments": {"city": "Berne"}}
calls: read_mcp_tool {"server": "everything", "tool": "echo"}

expect: result "args-prompt"
expect: result "demo://resource"
expect: result "Resource 3"
expect: result "What's weather in Berne?"
expect: result "Message to echo"
calls: use_mcp_tool {"server": "everything", "tool": "echo", "arguments": {"message": "by another way"}}

expect: result "Echo: by another way"
says: done
SCRIPT
}

progress() {
  play everything --output jsonl --deltas <<'SCRIPT'
calls: mcp__everything__trigger-long-running-operation {"duration": 2, "steps": 4}

expect: result "Long running operation completed"
says: done
SCRIPT
  "$python" - "$scratch/everything.out" <<'PYTHON'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
lines = [e["text"] for e in events if e["kind"] == "call.output"]
assert len(lines) >= 3, lines
PYTHON
}

# Nobody is there: a question of a server to the person is declined, and the call goes on.
questions() {
  play everything <<'SCRIPT'
calls: mcp__everything__get-roots-list {}

expect: result "work"
says: done
SCRIPT
}

# What the server asks of the person, where nobody is.
declined() {
  play everything <<'SCRIPT'
calls: mcp__everything__trigger-elicitation-request {}

expect: result "declined"
says: done
SCRIPT
}

# The lines of docs/mcp-servers.md, as they stand there: fetched once, then started without network.
by_npx() {
  "$weir" mcp-servers add npx --yes -C "$work" --write . -- \
    npx -y @modelcontextprotocol/server-filesystem . </dev/null >"$scratch/npx.txt" ||
    { cat "$scratch/npx.txt"; return 1; }
  play npx <<SCRIPT
calls: mcp__npx__read_text_file {"path": "$work/notes.md"}

expect: result "colour: red"
says: done
SCRIPT
}

by_uvx() {
  "$weir" mcp-servers add uvx --yes -C "$work" -- uvx mcp-server-time </dev/null >"$scratch/uvx.txt" ||
    { cat "$scratch/uvx.txt"; return 1; }
  play uvx <<'SCRIPT'
calls: mcp__uvx__convert_time {"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "Asia/Kolkata"}

expect: result "-3.5h"
says: done
SCRIPT
}

filesystem() {
  play files <<SCRIPT
calls: mcp__files__list_directory {"path": "$work"}
calls: mcp__files__read_text_file {"path": "$work/notes.md"}
calls: mcp__files__read_text_file {"path": "$scratch/person/home/secret.txt"}

expect: result "[FILE] notes.md"
expect: result "colour: red"
expect: result "Access denied"
expect-not: body "marker-of-the-person"
says: done
SCRIPT
  play files <<SCRIPT || return 1
calls: mcp__files__write_file {"path": "$work/written.md", "content": "by the server\n"}

expect: result "Successfully wrote"
says: done
SCRIPT
  grep -qx 'by the server' "$work/written.md" || return 1
  # It is the person's workspace: what a server wrote there can be taken back.
  "$weir" undo -C "$work" </dev/null && [ ! -e "$work/written.md" ]
}

memory() {
  play memory <<'SCRIPT'
calls: mcp__memory__create_entities {"entities": [{"name": "Ada", "entityType": "person", "observations": ["keeps the lighthouse"]}]}

expect: result "Ada"
says: done
SCRIPT
  # Another session finds what the first one kept.
  play memory <<'SCRIPT'
calls: mcp__memory__search_nodes {"query": "lighthouse"}

expect: result "Ada"
says: done
SCRIPT
  grep -q lighthouse "$scratch/kept/memory.jsonl"
}

thinking() {
  play thinking <<'SCRIPT'
calls: mcp__thinking__sequentialthinking {"thought": "First the tide.", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}

expect: result "\"thoughtHistoryLength\": 1"
says: done
SCRIPT
}

git_server() {
  play git <<SCRIPT
calls: mcp__git__git_status {"repo_path": "$work"}
calls: mcp__git__git_log {"repo_path": "$work"}

expect: result "draft.md"
expect: result "the harbour is red"
says: done
SCRIPT
}

time_server() {
  play time <<'SCRIPT'
calls: mcp__time__convert_time {"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "Asia/Kolkata"}

expect: result "-3.5h"
says: done
SCRIPT
}

fetch_server() {
  play fetch <<SCRIPT
calls: mcp__fetch__fetch {"url": "http://127.0.0.1:$port/index.html", "raw": true}
calls: mcp__fetch__fetch {"url": "http://127.0.0.1:$other/index.html", "raw": true}

expect: result "High water at noon."
expect-not: result "not for it"
says: done
SCRIPT
}

listed() {
  "$weir" mcp-servers list --check --json -C "$work" </dev/null >"$scratch/list.json" || { cat "$scratch/list.json"; return 1; }
  "$python" - "$scratch/list.json" <<'PYTHON'
import json, sys
servers = json.load(open(sys.argv[1]))
assert len(servers) == 7, servers
for server in servers:
    assert server["state"] == "ready", server
    print(server["name"], server["tools"], server["protocol"])
PYTHON
  "$weir" doctor --offline -C "$work" </dev/null >"$scratch/doctor.txt" || true
  grep -q 'MCP server git' "$scratch/doctor.txt" || { cat "$scratch/doctor.txt"; return 1; }
}

# Nothing of a server is left when the program has ended.
ended() {
  "$python" - "$official/server-" "$venv/bin/mcp-server" <<'PYTHON'
import os, sys
left = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        words = open(f"/proc/{pid}/cmdline", "rb").read().decode(errors="replace").split("\0")
    except OSError:
        continue
    if int(pid) != os.getpid() and any(w.startswith(tuple(sys.argv[1:])) for w in words):
        left.append((pid, words))
assert not left, left
PYTHON
}

mkdir -p "$scratch/other"
printf 'not for it\n' >"$scratch/other/index.html"
printf 'marker-of-the-person\n' >"$HOME/secret.txt"
export HARBOUR_TOKEN=marker-of-the-person
"$python" -m http.server --bind 127.0.0.1 --directory "$scratch/site" "$port" >/dev/null 2>&1 &
started+=($!)
"$python" -m http.server --bind 127.0.0.1 --directory "$scratch/other" "$other" >/dev/null 2>&1 &
started+=($!)
wait_for "http://127.0.0.1:$port/"
wait_for "http://127.0.0.1:$other/"

checked "server-everything is added" of_node everything server-everything
checked "server-filesystem is added" of_node files server-filesystem --write . -- "$work"
checked "server-memory is added" of_node memory server-memory --write "$scratch/kept" \
  --env "MEMORY_FILE_PATH=$scratch/kept/memory.jsonl"
checked "server-sequential-thinking is added" of_node thinking server-sequential-thinking
checked "mcp-server-git is added" of_python git mcp-server-git -- --repository "$work"
checked "mcp-server-time is added" of_python time mcp-server-time
# It leaves out proxies for loopback addresses unless it is told of one.
checked "mcp-server-fetch is added" add fetch --read "$venv" --read "$base" --host "127.0.0.1:$port" -- \
  /bin/sh -c 'exec "$0" --proxy-url "$HTTP_PROXY" --allow-private-ips --ignore-robots-txt' \
  "$venv/bin/mcp-server-fetch"
checked "everything: tools, structured content, a picture, no variable of the person's" everything
checked "everything: resources, prompts and schemas by read_mcp_tool" beside_tools
checked "everything: progress of a long operation" progress
checked "everything: asks for the roots" questions
checked "everything: a question to the person is declined where nobody is" declined
checked "filesystem: reads and writes the workspace, is told no beside it, is undone" filesystem
checked "memory: keeps what another session finds" memory
checked "sequential-thinking: thinks" thinking
checked "git: status and log" git_server
checked "time: converts" time_server
checked "fetch: reaches the declared host and no other" fetch_server
checked "all seven work as approved, and doctor knows them" listed
checked "no process of a server is left" ended
checked "npx: the documented line is installed once and works without network" by_npx
checked "uvx: the documented line is installed once and works without network" by_uvx
closing mcp
