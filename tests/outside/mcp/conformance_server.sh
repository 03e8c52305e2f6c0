#!/usr/bin/env bash
# The official conformance suite's server sets, both eras, against the server half of MCP as Weir has it
# (R2): the suite wants tools of its own, so an agent with those stands behind the port that `weir mcp` and
# `/mcp` stand behind too (crates/weir-mcp-server/examples/conformance.rs). What Weir has no use for is named
# in `baseline_server.yml`; the suite itself says when a line of it should go.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=$root/tests/outside/mcp
modules=${WEIR_MCP_NODE:-$cache/mcp/node_modules}
node=$modules/node/bin/node
suite=$modules/@modelcontextprotocol/conformance/dist/index.js
fixture=${WEIR_MCP_FIXTURE:-$(dirname "$weir")/examples/conformance}
needs "$fixture" "run cargo build --workspace --example conformance"
needs "$node" "run ./test, which installs it"
unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy

"$fixture" >"$scratch/address" &
started+=($!)
for _ in $(seq 100); do [ -s "$scratch/address" ] && break; sleep 0.1; done
address=$(head -n 1 "$scratch/address")

# set_of REVISION: every required scenario of it, and what the suite says of each.
set_of() {
  local status=0
  (cd "$scratch" && timeout 300 "$node" "$suite" server --url "$address" --requirements "$1" \
    --expected-failures "$here/baseline_server.yml" --output-dir "$scratch/results-$1") \
    >"$scratch/$1.txt" 2>&1 || status=$?
  printf '%d' "$status" >"$scratch/$1.status"
  grep -E '^[✓✗~] [a-z]' "$scratch/$1.txt" >"$scratch/$1.lines" || true
  "$node" "$suite" list --requirements "$1" | sed -n '/never scored/,$p' >"$scratch/$1.uncounted"
  [ -s "$scratch/$1.lines" ] && [ -s "$scratch/$1.uncounted" ] || { tail -n 60 "$scratch/$1.txt"; return 1; }
}

as_expected() {
  [ "$(cat "$scratch/$1.status")" -eq 0 ] || { sed -n '/SUMMARY/,$p' "$scratch/$1.txt"; return 1; }
}

works() { [ "$1" = ✓ ]; }
is_known() { grep -qxF "  - $1" "$here/baseline_server.yml"; }
is_scored() { ! grep -qF -- "- $1 [server]" "$scratch/$2.uncounted"; }

for revision in 2025-11-25 2026-07-28; do
  checked "the server set of $revision is played" set_of "$revision"
  while read -r mark name _; do
    name=${name%:}
    if ! is_scored "$name" "$revision"; then
      printf 'note  %s %s %s: not counted by the suite\n' "$revision" "$mark" "$name"
    elif is_known "$name"; then
      printf 'note  %s %s: expected to fail, see baseline_server.yml\n' "$revision" "$name"
    else
      checked "$revision $name" works "$mark"
    fi
  done <"$scratch/$revision.lines"
  checked "the server set of $revision: nothing fails but what the baseline names" as_expected "$revision"
done
closing mcp_conformance_server
