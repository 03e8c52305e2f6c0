#!/usr/bin/env bash
# The official conformance suite's client sets, played by the headless agent (F4): `client.sh` is the
# client, `baseline.yml` names what is expected to fail. Requirement sets of both eras of the protocol.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=$root/tests/outside/mcp
modules=${WEIR_MCP_NODE:-$cache/mcp/node_modules}
node=$modules/node/bin/node
suite=$modules/@modelcontextprotocol/conformance/dist/index.js
needs "$weir" "run cargo build -p weir"
needs "$python" "run ./test, which installs it"
needs "$node" "run ./test, which installs it"
export WEIR_BIN=$weir WEIR_PYTHON=$python
unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy WEIR_MODEL

# set_of REVISION: every required scenario of it, and what the suite says of each.
set_of() {
  local status=0
  (cd "$scratch" && timeout 300 "$node" "$suite" client \
    --command "$here/client.sh" --requirements "$1" --expected-failures "$here/baseline.yml" \
    --timeout 60000 --output-dir "$scratch/results-$1") >"$scratch/$1.txt" 2>&1 || status=$?
  printf '%d' "$status" >"$scratch/$1.status"
  # The suite's own marks: a line for each scenario.
  grep -E '^[✓✗~] [a-z]' "$scratch/$1.txt" >"$scratch/$1.lines" || true
  "$node" "$suite" list --requirements "$1" | sed -n '/never scored/,$p' >"$scratch/$1.uncounted"
  [ -s "$scratch/$1.lines" ] && [ -s "$scratch/$1.uncounted" ] || { tail -n 60 "$scratch/$1.txt"; return 1; }
}

as_expected() {
  [ "$(cat "$scratch/$1.status")" -eq 0 ] || { sed -n '/SUITE SUMMARY/,$p' "$scratch/$1.txt"; return 1; }
}

works() { [ "$1" = ✓ ]; }
# A name of baseline.yml: the suite itself says when it passes and should go.
is_known() { grep -qxF "  - $1" "$here/baseline.yml"; }
# What the suite runs and does not count: extensions, and what came after the revision.
is_scored() { ! grep -qF -- "- $1 [client]" "$scratch/$2.uncounted"; }

for revision in 2025-11-25 2026-07-28; do
  checked "the set of $revision is played" set_of "$revision"
  while read -r mark name _; do
    name=${name%:}
    if ! is_scored "$name" "$revision"; then
      printf 'note  %s %s %s: not counted by the suite\n' "$revision" "$mark" "$name"
    elif is_known "$name"; then
      printf 'note  %s %s: expected to fail, see baseline.yml\n' "$revision" "$name"
    else
      checked "$revision $name" works "$mark"
    fi
  done <"$scratch/$revision.lines"
  checked "the set of $revision: nothing fails but what baseline.yml names" as_expected "$revision"
done
closing mcp_conformance
