#!/usr/bin/env bash
# Judges recorded requests: against the official SDKs' own types, and against the vendors' rules
# whose breach is a 400. Zero findings is the bar.
#   run_judges.sh [FILE...]   without FILE: what `cargo test -p weir-scenario` wrote, which is every
#                             request of every scenario in every dialect, and every one that a
#                             scenario sends after it was crashed and resumed
# First the judges themselves are held against broken requests, one by one: a judge that finds
# nothing in those would find nothing anywhere.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
needs "$python" "run ./test, which installs it"

finds() {
  ! "$python" "$root/tests/outside/judges/$1.py" "$2"
}

number=0
while IFS= read -r line; do
  number=$((number + 1))
  printf '%s\n' "$line" >"$scratch/broken.jsonl"
  judge=$(printf '%s' "$line" | "$python" -c 'import json, sys; print(json.load(sys.stdin)["want"])')
  checked "$judge finds what is wrong with broken request $number" finds "$judge" "$scratch/broken.jsonl"
done <"$root/tests/outside/judges/broken.jsonl"

[ $# -gt 0 ] || set -- "$target/tmp/scenario-requests.jsonl" "$target"/tmp/resumed-requests-*.jsonl
for file in "$@"; do
  needs "$file" "run cargo test -p weir-scenario"
  checked "nothing is wrong with the $(wc -l <"$file") requests of $(basename "$file")" judges "$file"
done
closing judges
