#!/usr/bin/env bash
# Rendering against the examples of CommonMark (npm, `commonmark-spec`): what differs on purpose is
# listed, everything else must be the same.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
spec=${WEIR_COMMONMARK_SPEC:-$cache/commonmark/node_modules/commonmark-spec/spec.txt}
compare=${WEIR_COMMONMARK_BIN:-$target/debug/examples/commonmark}
needs "$spec" "run ./test, which installs it"
needs "$compare" "run cargo build -p weir-server --example commonmark"
checked "the examples of CommonMark" "$compare" "$spec"
"$compare" "$spec" | grep "the same" || true
closing commonmark
