#!/usr/bin/env bash
# The tests of the screen: the real program in a real terminal (tmux), and on ptys of their own where
# bytes count.
#   tests/tui/run.sh              all of them
#   tests/tui/run.sh WORDS        tests whose name holds one of the words
#   WEIR_TUI_JOBS=1 …             one after the other
#   WEIR_TUI_SHOTS=docs/tui …     also writes each state as a frame file, the recorded session and the
#                                 picture of the README
# Nothing but Python 3 and tmux is needed; the picture needs Chromium.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
export WEIR_BIN=${WEIR_BIN:-$target/debug/weir} WEIR_ROOT=$root
[ -x "$WEIR_BIN" ] || { printf '%s is missing: cargo build\n' "$WEIR_BIN" >&2; exit 1; }
if ! command -v tmux >/dev/null 2>&1; then
  printf 'SKIPPED: tmux is not on PATH\n'
  [ "${CI:-}" != true ] || exit 1
  exit 0
fi
if [ -n "${WEIR_TUI_SHOTS:-}" ]; then
  case $WEIR_TUI_SHOTS in /*) ;; *) WEIR_TUI_SHOTS=$root/$WEIR_TUI_SHOTS ;; esac
  export WEIR_TUI_SHOTS
fi
exec timeout --kill-after=10 1800 python3 -B run.py "$@"
