# shellcheck shell=bash disable=SC2034
# What the runners of the outside judges share. Sourced, never run.
#
# A runner says what it checks with `checked`, ends with `closing`, and exits with 1 when anything
# failed. Everything it starts is ended by `stop_all` when the runner ends, however it ends.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
cache=${WEIR_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weir-test}
weir=${WEIR_BIN:-$target/debug/weir}
python=${WEIR_PYTHON:-$cache/venv/bin/python}
passed=0
failed=0
started=()
scratch=$(mktemp -d)

stop_all() {
  local pid
  for pid in ${started[@]+"${started[@]}"}; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$scratch"
}
trap stop_all EXIT

# checked NAME COMMAND...: one check; its output is shown when it fails. The command runs in this
# shell, so that what it starts is known to `stop_all`; `set -e` does not hold inside it.
checked() {
  local name=$1
  shift
  if "$@" >"$scratch/.out" 2>&1; then
    passed=$((passed + 1))
    printf 'ok    %s\n' "$name"
  else
    failed=$((failed + 1))
    printf 'FAIL  %s\n' "$name"
    # What failed, where a judge heads it so, and the end of what it said.
    grep -m 1 -A 40 '= FAILURES =' "$scratch/.out" || true
    tail -n 40 "$scratch/.out"
  fi
}

closing() {
  printf '%s: %d passed, %d failed\n' "$1" "$passed" "$failed"
  [ "$failed" -eq 0 ]
}

# A port below those that the system gives out by itself, so that nobody takes it before its program.
free_port() {
  "$python" -c 'import random, socket
while True:
    port = random.randrange(10000, 30000)
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
            break
        except OSError:
            pass
print(port)'
}

# wait_for URL: until it answers, at most two minutes.
wait_for() {
  "$python" - "$1" <<'PYTHON'
import sys, time, urllib.request
end = time.monotonic() + 120
while time.monotonic() < end:
    try:
        urllib.request.urlopen(sys.argv[1], timeout=20).read()
        sys.exit(0)
    except OSError:
        time.sleep(0.05)
sys.exit(f"{sys.argv[1]} did not answer within two minutes")
PYTHON
}

needs() {
  [ -e "$1" ] || { printf '%s is missing: %s\n' "$1" "$2" >&2; exit 1; }
}

# skipped NAME WHY: ends a runner that cannot run here; in CI, where everything is there, that is a failure.
skipped() {
  printf '%s: SKIPPED: %s\n' "$1" "$2"
  if [ "${CI:-}" = true ]; then exit 1; else exit 0; fi
}

# installed NAME PACKAGES PROGRAM...: what a runner asks of the machine, or it is skipped.
installed() {
  local name=$1 packages=$2 program
  shift 2
  for program in "$@"; do
    command -v "$program" >/dev/null || skipped "$name" "$program is not installed ($packages)"
  done
}

# For runners that ask nothing of Python but itself.
any_python() {
  [ -x "$python" ] || python=python3
}

# judges FILE: both judges on recorded requests. A note is advice, not a finding.
judges() {
  "$python" "$root/tests/outside/judges/wirelint.py" "$1" &&
    "$python" "$root/tests/outside/judges/sdkjudge.py" "$1"
}

# weir_home FOLDER: no setting, key or session of the person who runs this has a say.
weir_home() {
  export HOME=$1/home XDG_CONFIG_HOME=$1/config XDG_STATE_HOME=$1/state WEIR_STATE_DIR=$1/state/weir
  mkdir -p "$HOME" "$XDG_CONFIG_HOME" "$WEIR_STATE_DIR"
  unset WEIR_MODEL ANTHROPIC_BASE_URL OPENAI_BASE_URL GEMINI_BASE_URL OLLAMA_HOST
  unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy
}

# point DIALECT PORT: sets the endpoint and a key that means nothing; $model is the model to name.
point() {
  unset ANTHROPIC_BASE_URL OPENAI_BASE_URL GEMINI_BASE_URL OLLAMA_HOST
  export ANTHROPIC_API_KEY=any OPENAI_API_KEY=any GEMINI_API_KEY=any
  case $1 in
  anthropic) export ANTHROPIC_BASE_URL=http://127.0.0.1:$2; model=anthropic/outside ;;
  openai-responses) export OPENAI_BASE_URL=http://127.0.0.1:$2/v1; model=openai/outside ;;
  openai-chat) export OPENAI_BASE_URL=http://127.0.0.1:$2/v1; model=openai-chat/outside ;;
  gemini) export GEMINI_BASE_URL=http://127.0.0.1:$2; model=gemini/outside ;;
  ollama) export OLLAMA_HOST=127.0.0.1:$2; model=ollama/outside ;;
  *) printf 'no dialect %s\n' "$1" >&2; exit 1 ;;
  esac
}

dialects=(anthropic openai-responses openai-chat gemini ollama)
