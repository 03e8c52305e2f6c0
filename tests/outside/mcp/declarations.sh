#!/usr/bin/env bash
# The servers whose tools are declared as shipped data, from npm and PyPI: each is installed in the
# version that was looked at, started without a login, and asked for its tools; then every declaration
# is held against what the server says (U2). Which one cannot be started so is said. With `install`, they
# are only installed.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
here=$root/tests/outside/mcp
declarations=$root/crates/weir-install/declarations
modules=${WEIR_MCP_NODE:-$cache/mcp/node_modules}
node=$modules/node/bin/node
packages=$cache/mcp-declarations
needs "$python" "run ./test, which installs it"
needs "$node" "run ./test, which installs it"

# install NAME REGISTRY PACKAGE VERSION: once for each version, in a folder of its own. No script of a
# package runs.
install() {
  local name=$1 registry=$2 wanted="$3 $4"
  local folder=$packages/$registry/$name
  [ -f "$folder/.done" ] && [ "$(cat "$folder/.done")" = "$wanted" ] && return 0
  rm -rf "$folder"
  mkdir -p "$folder"
  case $registry in
  npm)
    printf '{ "private": true }\n' >"$folder/package.json"
    (cd "$folder" && npm install --silent --no-audit --no-fund --ignore-scripts "$3@$4")
    ;;
  pypi)
    "$python" -m venv "$folder" &&
      "$folder/bin/pip" install --quiet --disable-pip-version-check "$3==$4"
    ;;
  *)
    printf 'no registry %s\n' "$registry" >&2
    return 1
    ;;
  esac && printf '%s' "$wanted" >"$folder/.done"
}

same_hash() {
  local expected
  expected=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["hash"])' "$here/hashed_tool.json")
  [ "$("$python" "$here/declarations.py" hash "$here/hashed_tool.json")" = "$expected" ]
}

checked "a tool is hashed as the client does it" same_hash
mkdir -p "$packages"
ln -sfn "$node" "$packages/node"
while read -r name registry package version; do
  checked "$package $version is installed" install "$name" "$registry" "$package" "$version"
done < <("$python" "$here/declarations.py" wanted "$declarations")

# Whoever only wants them here has them now.
if [ "${1:-}" = install ]; then
  closing mcp_declarations
  exit
fi

"$python" "$here/declarations.py" compare "$declarations" "$packages" | tee "$scratch/compared" || true
compared() { [ -s "$scratch/compared" ] && ! grep -q '^FAIL' "$scratch/compared"; }
# Twenty servers are promised; those that did not start prove nothing.
enough() { [ "$(grep -c '^ok ' "$scratch/compared")" -ge 20 ]; }
checked "every declaration is that of its server" compared
checked "at least twenty servers were asked" enough
closing mcp_declarations
