#!/usr/bin/env bash
# The static program (R9): that it needs nothing of a system but its kernel, and that what depends on the C
# library works in it: memory, threads, names of hosts, the children that read and compute behind a filter of
# system calls. Then the tests of the program run with it.
#
# It is built here, unoptimised, which takes as long as the first build of the other: `./test` calls this with
# WEIR_STATIC=full only. WEIR_STATIC_BIN names one that is built already, such as that of a release. Not here:
# its archive and who installs it (`packages.sh`).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
any_python
installed static "rustup, cargo-nextest, musl-tools, binutils, util-linux" \
  rustup cargo-nextest musl-gcc readelf ldd unshare
triple=$(uname -m)-unknown-linux-musl
static=$(realpath --canonicalize-missing "${WEIR_STATIC_BIN:-$target/$triple/debug/weir}")
script=$root/tests/outside/static.script

a_target() {
  (cd "$root" && { rustup target list --installed | grep -qx "$triple" || rustup target add "$triple"; })
}

# Of this machine nothing may be linked in; a library that it lacks is built instead.
built() {
  (cd "$root" && LIBZ_SYS_STATIC=1 cargo build --locked --target "$triple" -p weir)
}

needs_nothing() {
  ! readelf --wide --program-headers "$static" | grep INTERP && ! readelf --wide --dynamic "$static" | grep NEEDED &&
    { ldd "$static" 2>&1 || true; } | tee "$scratch/ldd" | grep -E 'statically linked|not a dynamic executable'
}

# As large as build.rs says; musl reads it there.
has_room_in_threads() {
  local bytes
  bytes=$(readelf --wide --program-headers "$static" | awk '$1 == "GNU_STACK" { print $6 }')
  [ "$((bytes))" -eq $((2 << 20)) ] || { echo "GNU_STACK says $bytes" && return 1; }
}

# In a root folder that holds the program and nothing else.
alone() {
  local empty=$scratch/empty as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(unshare --user --map-root-user)
  mkdir -p "$empty/home" && cp "$static" "$empty/weir" || return 1
  [ "$("${as_root[@]}" chroot "$empty" /weir --version)" = "$("$static" --version)" ] &&
    HOME=/home "${as_root[@]}" chroot "$empty" /weir completions bash >"$scratch/completions" &&
    grep -q complete "$scratch/completions"
}

# What follows has a home of its own, and leaves that of whoever builds alone.
demo() (
  weir_home "$scratch/demo"
  "$static" demo >"$scratch/said" 2>&1 && grep '^completed: ' "$scratch/said"
)

# works HOST: all of the script, with the model at that host.
works() (
  work=$scratch/$1/work
  mkdir -p "$work"
  weir_home "$scratch/$1"
  point openai-chat "$port"
  export OPENAI_BASE_URL=http://$1:$port/v1
  "$static" run -C "$work" -m "$model" --permission full --timeout 5m "Try everything." </dev/null |
    tee "$scratch/said" && grep 'All of it works' "$scratch/said" && [ "$(cat "$work/made.txt")" = "from inside" ] &&
    "$static" audit verify && "$static" undo -C "$work" </dev/null && [ ! -e "$work/made.txt" ]
)

own_tests() {
  (cd "$root" && WEIR_BINARY=$static cargo nextest run --locked --workspace --no-fail-fast \
    --status-level fail --final-status-level fail -E 'package(weir) & binary(=it)')
}

if [ -z "${WEIR_STATIC_BIN:-}" ]; then
  checked "r9_there_is_a_musl_target" a_target
  checked "r9_the_static_program_is_built" built
fi
if [ ! -x "$static" ]; then
  printf 'FAIL  %s is missing\n' "$static"
  failed=$((failed + 1))
  closing static
fi
checked "r9_the_static_program_needs_no_library_and_no_loader" needs_nothing
checked "r9_threads_that_c_starts_have_room" has_room_in_threads
checked "r9_the_static_program_starts_where_nothing_else_is" alone
checked "r9_the_static_program_plays_the_demo" demo
port=$(free_port)
(weir_home "$scratch/server" && exec "$static" script serve "$script" --bind "127.0.0.1:$port") >"$scratch/served" 2>&1 &
started+=($!)
wait_for "http://127.0.0.1:$port/healthz"
checked "r9_a_command_is_confined_and_a_program_computes" works 127.0.0.1
checked "r9_a_host_is_found_by_its_name" works localhost
checked "r9_the_tests_of_the_program_pass_with_the_static_one" own_tests
closing static
