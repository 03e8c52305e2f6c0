#!/usr/bin/env bash
# client.sh … URL: the headless agent as the client that the conformance suite looks at. In a home of
# its own it declares the server, approves it, and plays a model that calls every listed tool.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
weir=${WEIR_BIN:?the program}
python=${WEIR_PYTHON:?a Python}
url=${!#}
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME=$home/home XDG_CONFIG_HOME=$home/config XDG_STATE_HOME=$home/state
export WEIR_STATE_DIR=$home/state/weir BROWSER=$here/browser.sh
mkdir -p "$HOME" "$XDG_CONFIG_HOME/weir" "$WEIR_STATE_DIR" "$home/work"

# What the scenario gives its client beside the address: an id and a secret.
wanted=()
while IFS= read -r word; do
  wanted+=("$word")
done < <("$python" "$here/script.py" wanted "$XDG_CONFIG_HOME/weir/config.toml")
export CONFORMANCE_CLIENT_SECRET=$("$python" "$here/script.py" secret)

# Its tools are declared as ones that only read: what nobody declared may be called once, and then the
# flow table wants a person. So do words that were put together here; the person says them all.
"$weir" mcp-servers add test --url "$url" --read-tool '*' --yes ${wanted[@]+"${wanted[@]}"} -C "$home/work" </dev/null || exit 1
"$weir" mcp-servers show test --json -C "$home/work" >"$home/shown.json" </dev/null || exit 1
"$python" "$here/script.py" model "$home/shown.json" >"$home/all.script" || exit 1
said=$("$python" "$here/script.py" words "$home/all.script") || exit 1
# What the server asks is answered from elsewhere, as a person would.
"$weir" run -C "$home/work" -m "script:$home/all.script" --permission full --allow 'Mcp(test:*)' \
  --ask-elsewhere "Use everything that the server offers, with these words:
$said" </dev/null &
run=$!
"$python" "$here/script.py" answer "$weir" "$run" &
answering=$!
wait "$run"
status=$?
kill "$answering" 2>/dev/null
exit "$status"
