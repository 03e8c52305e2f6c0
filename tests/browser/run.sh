#!/usr/bin/env bash
# The browser tests: the real program, a real Chromium, people at work.
#   tests/browser/run.sh            all of them
#   tests/browser/run.sh chat       one file
# WEIR_BROWSER_ONLY=WORDS narrows to tests whose name holds them; WEIR_BROWSER_SLOW=MS lets every script
# come so late, to find what does not wait for it; WEIR_BROWSER_ASSETS=crates/weir-server/src/web/assets (a whole path)
# takes scripts and styles from there, to try them without building. Packages are installed once, into a
# cache folder; Chromium is the machine's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
cache=${WEIR_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weir-test}
target=${CARGO_TARGET_DIR:-$root/target}
export WEIR_BIN=${WEIR_BIN:-$target/debug/weir} WEIR_BROWSER_CACHE=$cache/browser
[ -x "$WEIR_BIN" ] || { printf '%s is missing: cargo build\n' "$WEIR_BIN" >&2; exit 1; }
[ -d "$WEIR_BROWSER_CACHE/node_modules" ] || {
  printf 'the packages are missing: ./test installs them\n' >&2
  exit 1
}
status=0
for file in ${1:-setup start connect chat slow hasty everyday approvals one_question deciding phone agents pages files brain proxy xss}; do
  timeout --kill-after=10 2400 node "$file.mjs" || status=1
done
exit "$status"
