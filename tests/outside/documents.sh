#!/usr/bin/env bash
# Documents that the tools make, opened by LibreOffice: each becomes a PDF, and the words of its text
# stand in that PDF. With WEIR_DOCUMENT_PICTURES=FOLDER the pages are kept there as pictures.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
make=${WEIR_DOCUMENTS_BIN:-$target/debug/examples/make_samples}
samples=$root/tests/outside/documents
needs "$make" "run cargo build -p weir-documents --example make_samples"
installed documents "libreoffice-writer -impress -calc, poppler-utils" soffice pdftotext pdftoppm

# opened FILE: it becomes a PDF with pages.
opened() {
  timeout 180 soffice "-env:UserInstallation=file://$scratch/office" --headless --convert-to pdf \
    --outdir "$scratch/made" "$1" && [ -s "${1%.*}.pdf" ]
}

# told NAME: the words that were read back from the file stand in the PDF too. Not looked for are
# numbers of pages, names of cells and what is no word, and words of more than one letter only.
told() {
  pdftotext -layout "$scratch/made/$1.pdf" - | tr -cs '[:alpha:]' '\n' | sort -u >"$scratch/pdf"
  # Notes stand beside the slides, addresses behind links, formulas behind values.
  # shellcheck disable=SC2016 # a pattern
  sed '/^Notes:/,/^$/d' "$scratch/made/$1.md" | sed -E 's/!\[[^]]*\]\([^)]*\)//g; s/\]\([^)]*\)/]/g; s/`[^`]*`( \(not computed\))?//g' \
    | tr -cs '[:alpha:]' '\n' | grep -E '^[[:alpha:]]{2,}$' | LC_ALL=C grep -E '^[A-Za-z]+$' | sort -u \
    | grep -vE '^(Header|Footer|Notes)$' >"$scratch/read"
  comm -23 "$scratch/read" "$scratch/pdf" >"$scratch/missing"
  [ ! -s "$scratch/missing" ] || { cat "$scratch/missing"; return 1; }
}

mkdir -p "$scratch/made"
checked "the samples are made and read back" "$make" "$samples" "$scratch/made"
for file in "$scratch"/made/*.docx "$scratch"/made/*.pptx "$scratch"/made/*.xlsx; do
  name=$(basename "${file%.*}")
  checked "t10_${name}_opens_in_libreoffice" opened "$file"
  checked "$name says what was written" told "$name"
  if [ -n "${WEIR_DOCUMENT_PICTURES:-}" ]; then
    pdftoppm -r 60 -png "$scratch/made/$name.pdf" "$WEIR_DOCUMENT_PICTURES/$name"
  fi
done
closing documents
