#!/usr/bin/env bash
# The reference validator of the Agent Skills format (`skills-ref`) reads the skills that come with
# Weir, one that an agent proposed and `weir skills accept` wrote, and one that `weir skills add`
# copied (M1). It and `weir skills validate` must agree about what is wrong, too.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
validator=${WEIR_SKILLS_REF:-$cache/skills/bin/agentskills}
needs "$validator" "run ./test, which installs it"
needs "$weir" "run cargo build -p weir"
weir_home "$scratch"
mkdir -p "$scratch/work"
own=$XDG_CONFIG_HOME/weir/skills

bundled() {
  local folder
  for folder in "$root"/crates/weir-engine/skills/*/; do
    "$validator" validate "$folder" && "$weir" skills validate "$folder" || return 1
  done
}

# An agent proposes a skill with everything in it that YAML could trip over.
proposed() {
  cat >"$scratch/propose.script" <<'SCRIPT'
calls: find_tool {"query": "manage_skill"}

calls: manage_skill {"action": "create", "name": "release-notes", "description": "Writes notes: \"what's new\" --- for #releases, with [brackets], {braces} & 100 % é 😀.\nUse it before a release.", "body": "---\n\n# Release notes\n\nRead `git log`.\n---\n", "trigger": "/release[- ]notes?|what's new/i"}

says: Proposed.
SCRIPT
  "$weir" run -C "$scratch/work" -m "script:$scratch/propose.script" --permission full --quiet \
    "Keep this as a skill." </dev/null || return 1
  [ ! -e "$own" ] || return 1
  "$weir" skills inbox -C "$scratch/work" | grep -q 'release-notes (to be saved)' || return 1
  "$weir" skills list -C "$scratch/work" | grep -q 'Waiting for your decision: release-notes'
}

accepted() {
  "$weir" skills accept release-notes -C "$scratch/work" </dev/null || return 1
  cat "$own/release-notes/SKILL.md"
  "$validator" validate "$own/release-notes" || return 1
  "$weir" skills validate "$own/release-notes" || return 1
  "$validator" read-properties "$own/release-notes" >"$scratch/properties.json" || return 1
  "$weir" skills show release-notes -C "$scratch/work" --json >"$scratch/shown.json" || return 1
  "$python" - "$scratch/properties.json" "$scratch/shown.json" <<'PYTHON'
import json, sys
theirs, ours = (json.load(open(path)) for path in sys.argv[1:])
head = ours["head"]
assert theirs["name"] == head["name"] == "release-notes"
assert theirs["description"] == head["description"], (theirs, head)
assert theirs["metadata"] == head["metadata"], (theirs, head)
assert head["metadata"]["author"] == "weir" and ours["self_written"], ours
assert ours["trigger"] == "/release[- ]notes?|what's new/i", ours
PYTHON
  "$weir" skills inbox -C "$scratch/work" | grep -q 'No skills wait'
}

in_force() {
  printf 'expect: body "Skills in force: binding"\nexpect: body "Read `git log`."\nsays: Bound.\n' \
    >"$scratch/bound.script"
  "$weir" run -C "$scratch/work" -m "script:$scratch/bound.script" --quiet "What's new here?" </dev/null
}

added() {
  mkdir -p "$scratch/given/weekly/scripts"
  printf -- '---\nname: weekly\ndescription: Weekly.\n---\nDo it.\n' >"$scratch/given/weekly/SKILL.md"
  printf 'echo hello\n' >"$scratch/given/weekly/scripts/run.sh"
  "$weir" skills add "$scratch/given/weekly" -C "$scratch/work" || return 1
  [ -f "$own/weekly/scripts/run.sh" ] && "$validator" validate "$own/weekly" || return 1
  "$weir" skills remove weekly -C "$scratch/work" || return 1
  [ ! -e "$own/weekly" ]
}

# agree TEXT: both refuse, or both accept, a SKILL.md in a folder called `case`.
agree() {
  local theirs=0 ours=0
  mkdir -p "$scratch/case"
  printf "$1" >"$scratch/case/SKILL.md"
  "$validator" validate "$scratch/case" || theirs=1
  "$weir" skills validate "$scratch/case" || ours=1
  [ "$theirs" -eq "$ours" ]
}

checked "the skills that come with Weir are valid" bundled
checked "an agent's proposal writes nothing" proposed
checked "what was accepted is valid and means the same to both" accepted
checked "what was accepted is in force when its trigger is said" in_force
checked "a skill can be added and taken away" added
while IFS='|' read -r name text; do
  checked "both say the same about $name" agree "$text"
done <<'CASES'
a plain skill|---\nname: case\ndescription: x\n---\nBody\n
a name in capitals|---\nname: Case\ndescription: x\n---\nBody\n
another name|---\nname: other\ndescription: x\n---\nBody\n
no description|---\nname: case\n---\nBody\n
an empty description|---\nname: case\ndescription: ""\n---\nBody\n
a field of its own|---\nname: case\ndescription: x\nmodel: y\n---\nBody\n
a trigger at the top|---\nname: case\ndescription: x\ntrigger: y\n---\nBody\n
a trigger below metadata|---\nname: case\ndescription: x\nmetadata:\n  trigger: y\n---\nBody\n
all fields|---\nname: case\ndescription: x\nlicense: MIT\ncompatibility: git\nallowed-tools: Read\nmetadata:\n  a: b\n---\nBody\n
no head|Body\n
a head without an end|---\nname: case\ndescription: x\n
a key that is there twice|---\nname: case\nname: case\ndescription: x\n---\nBody\n
a name over two lines|---\nname: >-\n  case\ndescription: |\n  x\n  y\n---\nBody\n
CASES
closing skills
