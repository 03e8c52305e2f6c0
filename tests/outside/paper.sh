#!/usr/bin/env bash
# A published paper of fourteen pages in two columns becomes a note (K9, X5): what is quoted stands on the
# page that the note names, judged by poppler's reading of the PDF, and what does not stand there is refused.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
paper=${WEIR_PAPER:-$cache/paper/node_modules/pdf-parse/test/data/01-valid.pdf}
needs "$weir" "run cargo build -p weir"
needs "$python" "run ./test, which installs it"
needs "$paper" "run ./test, which installs it"
installed paper poppler-utils pdftotext
weir_home "$scratch/person"
vault=$scratch/vault
mkdir -p "$vault/.obsidian"
printf '{}\n' >"$vault/.obsidian/app.json"
cp "$paper" "$vault/tracing.pdf"

# Words that break at the ends of lines, letters that are drawn as one, both columns, four pages; and two
# that the paper does not say.
ingest() {
  cat >"$scratch/ingest.script" <<'SCRIPT'
window: 1000000

calls: find_tool {"query": "ingest_triage ingest_document"}

calls: ingest_triage {"path": "tracing.pdf"}

expect: result "\"pages\": 14"
expect: result "take it"
calls: ingest_document {"source": "tracing.pdf", "notes": [{"path": "Tracing", "statements": [{"text": "Code is made for the types that are met.", "quote": "generates machine code on the fly that is specialized for the actual dynamic types occurring on each path through the loop"}, {"text": "It starts in an interpreter.", "quote": "Our system uses a mixed-mode execution approach"}, {"text": "A trace pays off after 270 runs.", "quote": "we break even after running a trace 270 times"}, {"text": "It is better than the others.", "quote": "Our estimated native code speedup of 3.9x is significantly better"}, {"text": "It is a hundred times as fast.", "quote": "we have measured speedups of 100x and more for certain benchmark programs"}, {"text": "It is finished.", "quote": "nothing remains to be done for dynamic languages"}]}]}

expect: result "Made 1 note"
expect: result "It is a hundred times as fast."
expect: result "It is finished."
says: done
SCRIPT
  "$weir" run -C "$vault" -m "script:$scratch/ingest.script" --permission auto-edit --strict \
    "Make a note of the paper." </dev/null
}

# The note has four statements, each with a passage that poppler finds on the page that it links to.
on_their_pages() {
  "$python" - "$vault" <<'PYTHON'
import re, subprocess, sys
vault = sys.argv[1]
note = open(f"{vault}/Tracing.md").read()
passages = re.findall(r"> (.*) \(\[\[tracing\.pdf#page=(\d+)\|p\. \2\]\]\)", note)
assert len(passages) == 4, note
assert "hundred" not in note and "finished" not in note, note
letters = lambda text: re.sub(r"[^a-z0-9]", "", text.replace("ﬁ", "fi").replace("ﬂ", "fl").lower())
for quote, page in passages:
    text = subprocess.run(["pdftotext", "-f", page, "-l", page, f"{vault}/tracing.pdf", "-"],
                          check=True, capture_output=True, text=True).stdout
    assert letters(quote) in letters(text), (quote, page)
assert len({page for _, page in passages}) >= 2, passages
PYTHON
}

undone() {
  "$weir" undo -C "$vault" </dev/null && [ ! -e "$vault/Tracing.md" ] && cmp "$paper" "$vault/tracing.pdf"
}

checked "k9_a_published_paper_becomes_a_note_with_its_passages" ingest
checked "each passage stands on the page that the note links to" on_their_pages
checked "the note is undone and the paper is what it was" undone
closing paper
