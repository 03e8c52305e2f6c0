#!/usr/bin/env bash
# The steps of the Action (`action.yml`): `install` finds or installs the program, `run` runs it and tells
# the workflow what came of it. Everything that a workflow chose comes in as a variable `WEIR_ACTION_…`.
#
# What the answer says was written by a model that has read a stranger's words. So it is never a command
# of the runner's (those are lines of the output), never more than the one output that it is meant to be,
# and in the summary it is text and no Markdown: an image of it would carry words to whoever it names.
#
# Not here: what the inputs are called and mean (`action.yml`).
set -euo pipefail

say() { printf 'weir action: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 2
}

# output NAME VALUE: an output of the step. What ends it is nothing that anybody could have guessed.
output() {
  local end
  end=weir-$(cat /proc/sys/kernel/random/uuid)
  printf '%s<<%s\n%s\n%s\n' "$1" "$end" "$2" "$end" >>"$GITHUB_OUTPUT"
}

install_program() {
  local program=${WEIR_ACTION_PROGRAM:-}
  if [ -n "$program" ]; then
    [ -x "$program" ] || fail "the input program names $program, which cannot be run"
    case $program in
      /*) ;;
      *) program=$PWD/$program ;;
    esac
  elif [ -z "${WEIR_ACTION_VERSION:-}" ] && command -v weir >/dev/null 2>&1; then
    program=$(command -v weir)
  else
    # The release of the very version that the Action was pinned to, signed by whom that version names.
    local prefix=${RUNNER_TEMP:-/tmp}/weir here version=${WEIR_ACTION_VERSION:-}
    here=$(dirname "${BASH_SOURCE[0]}")
    [ -n "$version" ] || version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../Cargo.toml" | head -n 1)
    export WEIR_RELEASE_SIGNERS=${WEIR_RELEASE_SIGNERS:-$here/release.signers}
    grep -q '^[^#]' "$WEIR_RELEASE_SIGNERS" ||
      fail "nobody has signed a release of this version yet; build Weir in an earlier step and name it in the input program"
    sh "$here/install.sh" --prefix "$prefix" --version "$version" ||
      fail "no release could be installed; build Weir in an earlier step and name it in the input program"
    program=$prefix/bin/weir
  fi
  "$program" --version >&2
  output program "$program"
}

# add_rules FLAG TEXT: the flag for each line of the text.
add_rules() {
  local rule
  while IFS= read -r rule; do
    rule=${rule#"${rule%%[![:space:]]*}"}
    [ -z "$rule" ] || words+=("$1=$rule")
  done <<<"$2"
}

# add_value FLAG VALUE: the flag, where there is a value. In one word: a value that begins with `-` is one.
add_value() {
  [ -z "$2" ] || words+=("$1=$2")
}

summarise() {
  [ -n "${GITHUB_STEP_SUMMARY:-}" ] || return 0
  {
    printf '### Weir: %s\n\n<pre>' "$status"
    # What looks like a tag is none.
    jq -r '.text // .error // ""' "$result" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'
    printf '</pre>\n\n'
    jq -r '"\(.iterations // 0) model calls, \(.tool_calls // 0) tool calls, \(.denials // [] | length) denied" +
      (if .cost_usd then ", $\(.cost_usd)" else "" end)' "$result"
  } >>"$GITHUB_STEP_SUMMARY"
}

run_weir() {
  command -v jq >/dev/null 2>&1 || fail "jq is missing: install it in an earlier step"
  # Each use in a job has files of its own.
  local folder=${WEIR_ACTION_FOLDER:-.} own
  own=$(mktemp -d "${RUNNER_TEMP:-/tmp}/weir-run.XXXXXX")
  local result=$own/result.json state=$own/state
  local words=(run -C "$folder" --state-dir "$state" --output json)
  add_value --permission "${WEIR_ACTION_PERMISSION:-}"
  add_value --model "${WEIR_ACTION_MODEL:-}"
  add_value --budget-usd "${WEIR_ACTION_BUDGET_USD:-}"
  add_value --budget-tokens "${WEIR_ACTION_BUDGET_TOKENS:-}"
  add_value --max-iterations "${WEIR_ACTION_MAX_ITERATIONS:-}"
  add_value --timeout "${WEIR_ACTION_TIMEOUT:-}"
  add_value --output-schema "${WEIR_ACTION_OUTPUT_SCHEMA:-}"
  add_rules --allow "${WEIR_ACTION_ALLOW:-}"
  add_rules --deny "${WEIR_ACTION_DENY:-}"
  [ "${WEIR_ACTION_STRICT:-false}" != true ] || words+=(--strict)
  [ -n "${WEIR_ACTION_PROMPT:-}" ] || fail "the input prompt is empty"
  words+=(-- "$WEIR_ACTION_PROMPT")
  local code=0 pass
  # What it prints meanwhile holds words of the model; none of them is a command of the runner's.
  pass=weir-$(cat /proc/sys/kernel/random/uuid)
  printf '::stop-commands::%s\n' "$pass"
  if [ -n "${WEIR_ACTION_DIFF_BASE:-}" ]; then
    local diff=$own/request.diff
    git -C "$folder" diff --no-ext-diff --no-textconv --end-of-options \
      "$WEIR_ACTION_DIFF_BASE...HEAD" -- >"$diff" || {
      printf '::%s::\n' "$pass"
      fail "the difference to $WEIR_ACTION_DIFF_BASE is not known; check out with fetch-depth: 0"
    }
    "$WEIR_ACTION_PROGRAM" "${words[@]}" - <"$diff" >"$result" || code=$?
  else
    "$WEIR_ACTION_PROGRAM" "${words[@]}" </dev/null >"$result" || code=$?
  fi
  printf '::%s::\n' "$pass"
  # Where nothing was run there is no result.
  local status
  status=$(jq -r '.status // empty' "$result" 2>/dev/null) || status=
  [ -n "$status" ] || { status=failed && echo '{}' >"$result"; }
  output status "$status"
  output exit-code "$code"
  # The runner takes 1 MB of all outputs together; the whole answer is in the file.
  output text "$(jq -r '.text // "" | .[:100000]' "$result")"
  output output "$(jq -c '.output // empty | select((tojson | length) <= 200000)' "$result")"
  output session "$(jq -r '.session // ""' "$result")"
  output cost-usd "$(jq -r '.cost_usd // ""' "$result")"
  output result-file "$result"
  output state-dir "$state"
  summarise
  say "$status (exit status $code)"
  [ "${WEIR_ACTION_FAIL:-true}" = true ] || return 0
  return "$code"
}

case ${1:-} in
  install) install_program ;;
  run) run_weir ;;
  *) fail "install or run" ;;
esac
