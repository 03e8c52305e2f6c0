#!/bin/sh
# Makes the files of a release with a key from the environment, as the release workflow has it:
#
#   SIGNING_KEY=… deploy/release.sh BINARY VERSION FOLDER [STATIC-PROGRAM…]
#
# The key is in a file of its own for as long as it is used, and nothing is compiled meanwhile: build
# xtask before, or name it by WEIR_XTASK_BIN. Not here: what the files are (`cargo xtask package`),
# building, and publishing.
set -eu
umask 077
[ $# -ge 3 ] || { echo "usage: SIGNING_KEY=… $0 BINARY VERSION FOLDER [STATIC-PROGRAM…]" >&2 && exit 2; }
[ -n "${SIGNING_KEY:-}" ] || { echo "SIGNING_KEY is empty: nothing can be signed" >&2 && exit 2; }
# What this starts from here on must not find the key in its environment.
key=$SIGNING_KEY
unset SIGNING_KEY
root=$(cd "$(dirname "$0")/.." && pwd)
xtask=${WEIR_XTASK_BIN:-${CARGO_TARGET_DIR:-$root/target}/debug/xtask}
[ -x "$xtask" ] || { echo "$xtask is missing: cargo build --locked -p xtask" >&2 && exit 2; }
folder=
# A plain shell that is ended by a signal runs no EXIT trap, unless the signal's own trap exits.
trap '[ -z "$folder" ] || rm -rf "$folder"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
folder=$(mktemp -d)
printf '%s\n' "$key" >"$folder/key"
binary=$1 version=$2 out=$3
shift 3
for program; do
  shift
  set -- "$@" --static-program "$program"
done
# The C library of docs/install.md: a program that asks for a newer one would not start there.
"$xtask" package "$@" --binary "$binary" --version "$version" --out "$out" --key "$folder/key" --libc-max 2.36
