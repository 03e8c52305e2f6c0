#!/usr/bin/env bash
# A vault judged from outside: counts of links, random moves and their undo, properties byte for byte. A
# vault of our own, or WEIR_VAULT=FOLDER: any other, of which a copy is made.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
weir=${WEIR_BIN:-$target/debug/weir}
needs "$weir" "run cargo build"
python3 "$root/tests/outside/vault/prove.py" "$weir" ${WEIR_VAULT:+"$WEIR_VAULT"}
