#!/usr/bin/env bash
# The vendors' official Python SDKs parse what `weir script serve` streams: text, thinking,
# parallel calls, usage, errors, in every dialect (V6).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
needs "$python" "run ./test, which installs it"
needs "$weir" "run cargo build -p weir"
weir_home "$scratch"
checked "the official SDKs agree with weir script serve" \
  "$root/tests/sdk/run.sh" "$python" "$weir" script serve
closing sdk
