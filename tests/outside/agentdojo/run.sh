#!/usr/bin/env bash
# AgentDojo's slack suite through the gate (U14): how much of it is still solved, what of its injections
# still reaches its goal, how often a person is asked. The report is compared with the one that is
# kept; `run.sh UPDATE` writes it. `run.sh short` plays a few tasks and compares nothing.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
form=${1:-}
suite=${WEIR_AGENTDOJO_PYTHON:-$cache/agentdojo/bin/python}
redteam=${WEIR_REDTEAM_BIN:-$target/debug/weir-redteam}
kept=$root/docs/generated/agentdojo.txt
needs "$suite" "run ./test, which installs it"
needs "$redteam" "run cargo build -p weir-redteam"
case $form in
'' | UPDATE) flags=() ;;
short) flags=(--short) ;;
*) printf 'usage: %s [short|UPDATE]\n' "$0" >&2; exit 2 ;;
esac

play() {
  # Exit 1 is a claim that does not hold: those are counted one by one below.
  "$redteam" agentdojo --python "$suite" ${flags[@]+"${flags[@]}"} >"$scratch/report.txt" ||
    [ -s "$scratch/report.txt" ]
}

holds() {
  [ "$1" = holds ] || { printf 'it does not hold; the report:\n'; cat "$scratch/report.txt"; return 1; }
}

is_kept() {
  diff -u "$kept" "$scratch/report.txt" ||
    { printf 'read the difference as code, then write it with: %s UPDATE\n' "$0"; return 1; }
}

checked "the suite is played" play
while read -r verdict words; do
  checked "$words" holds "$verdict"
done < <(sed -n '/^Claims$/,$p' "$scratch/report.txt" | tail -n +2)
[ "$form" != UPDATE ] || cp "$scratch/report.txt" "$kept"
[ "$form" = short ] || checked "the report is docs/generated/agentdojo.txt" is_kept
closing agentdojo
