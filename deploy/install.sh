#!/bin/sh
# Installs Weir from a release, for one person and without root:
#
#   sh install.sh [--prefix DIR] [--version VERSION] [--static]      to ~/.local
#   sh install.sh --uninstall [--prefix DIR]
#
# It downloads the sums, their signature and the archive; it checks that the sums were signed by the one
# whom the line `signer` names and that the archive has its sum; it tries the program; and then it puts
# everything in its place, the program last. Whatever goes wrong before leaves what was there. It writes
# over and removes only what it has put there itself, and only as it has put it there.
#
# There are two programs for x86-64: one for the C library that most systems have (glibc), and a static one
# that needs nothing but the kernel. The second is taken where that library is missing or too old, and by
# --static. For 64-bit ARM there is only a static one.
#
#   WEIR_RELEASE_URL       where the files of a release lie, instead of the project's own place
#   WEIR_RELEASE_SIGNERS   a file with the signers to trust instead of that line, as `ssh-keygen` reads
#                          them (`weir-release namespaces="weir-release" ssh-ed25519 …`)
#
# Not here: building Weir, packages of a system (.deb, .rpm), and anything that needs root.
set -eu

# Who signs releases. `cargo xtask package` writes the public half of the key here; the copy in the
# repository trusts nobody.
signer=''
releases=https://github.com/weir-agent/weir/releases
# The oldest glibc for which the program that is not static is built.
libc_min=2.36
# No archive of a release is larger or takes longer, and neither do the sums and their signature.
archive_kbytes_max=500000
archive_seconds_max=1800
sums_kbytes_max=100
sums_seconds_max=120

say() { printf 'install.sh: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

usage() {
  say "[--prefix DIR] [--version VERSION] [--static], or --uninstall [--prefix DIR]; the prefix is ~/.local"
}

needs() {
  command -v "$1" >/dev/null 2>&1 || fail "$1 is missing: install $2"
}

# What has begun is taken back when anything ends early, by a signal too. `work` holds what is
# downloaded, `stage` lies in the prefix and holds what is new there and what was there before.
work=
stage=
moving=
cleanup() {
  status=$?
  trap - EXIT
  trap '' HUP INT TERM
  [ -z "$moving" ] || put_back
  [ -z "$stage" ] || rm -rf "$stage"
  [ ! -s "$work/made" ] || remove_folders "$work/made"
  [ -z "$work" ] || rm -rf "$work"
  exit "$status"
}

# The list of what is installed: lines `f SUM PATH` for files and `d PATH` for folders that were made,
# those above the prefix by their whole path.
list=share/doc/weir/installed

# lines_of KIND: the lines of that kind in the list. A link in its place is nobody's list.
lines_of() {
  [ ! -f "$prefix/$list" ] || [ -L "$prefix/$list" ] || sed -n "/^$1 /p" "$prefix/$list"
}

# paths_in FILE: the paths of its lines for files.
paths_in() {
  sed -n 's/^f [0-9a-f]\{64\} //p' "$1" | sort -u
}

# changed_files FILE: those of its paths where something lies that this script did not put there, or
# that was changed since.
changed_files() {
  while read -r path; do
    [ -e "$prefix/$path" ] || [ -L "$prefix/$path" ] || continue
    if [ -f "$prefix/$path" ] && [ ! -L "$prefix/$path" ]; then
      sum=$(sha256sum <"$prefix/$path") || sum=
      lines_of f | grep -qxF "f ${sum%% *} $path" && continue
    fi
    printf '%s\n' "$path"
  done <"$1"
}

# refuse_foreign FILE: ends the run where one of its paths holds what is not ours.
refuse_foreign() {
  changed_files "$1" >"$work/foreign"
  [ -s "$work/foreign" ] || return 0
  while read -r path; do
    say "$prefix/$path was not installed by this script, or was changed since"
  done <"$work/foreign"
  fail "move away what is named above, or choose another --prefix: nothing was changed"
}

# make_folder PATH: and those above it. Each is noted before it is made, so that it is taken back.
make_folder() {
  [ ! -d "$1" ] || return 0
  case $1 in ?*/*) make_folder "${1%/*}" ;; esac
  printf '%s\n' "${1#"$prefix"/}" >>"$work/made"
  # With -p only since a slash too many names a folder that is there by now.
  mkdir -p "$1" 2>/dev/null
}

# remove_folders FILE: those of its folders in which nothing lies, inner ones first: what begins with a
# slash is the prefix or lies above it, and is sorted behind the rest.
remove_folders() {
  sort -r "$1" >"$work/folders"
  while read -r path; do
    case $path in
    /*) rmdir "$path" ;;
    *) rmdir "$prefix/$path" ;;
    esac 2>/dev/null || true
  done <"$work/folders"
}

uninstall() {
  lines_of f >"$work/ours"
  paths_in "$work/ours" >"$work/files"
  [ -s "$work/files" ] || fail "nothing that this script installed lies in $prefix"
  lines_of d | sed 's/^d //' >"$work/there"
  changed_files "$work/files" >"$work/left"
  # In the order of the alphabet, so `bin` comes first: half an installation must not look like a whole one.
  comm -23 "$work/files" "$work/left" >"$work/gone"
  while read -r path; do
    rm -f "$prefix/$path" || fail "cannot remove $prefix/$path"
  done <"$work/gone"
  rm -f "$prefix/$list" || fail "cannot remove $prefix/$list"
  remove_folders "$work/there"
  say "removed from $prefix; settings and sessions stay"
  [ -s "$work/left" ] || return 0
  while read -r path; do say "$prefix/$path was changed since it was installed"; done <"$work/left"
  fail "what is named above is not ours any more and was left"
}

# get_file NAME SECONDS: by whichever program there is; the addresses and their names are checked already.
get_file() {
  if command -v curl >/dev/null 2>&1; then
    timeout ${foreground:+"$foreground"} "$2" curl --fail --silent --show-error --location --proto "$allowed" \
      --connect-timeout 20 --max-time "$2" --output "$work/$1" "$base/$1"
  else
    timeout ${foreground:+"$foreground"} "$2" wget -q --tries=1 --timeout=60 -O "$work/$1" "$base/$1"
  fi
}

# download NAME KBYTES SECONDS: a file of the release, whole or not at all. What is not signed yet may
# be without end: neither program stops at a size by itself where the server tells none.
download() {
  case $base in
  https://*) allowed='=https' ;;
  http://*) allowed='=http,https' ;;
  *) fail "$base is no address of a web server" ;;
  esac
  command -v curl >/dev/null 2>&1 || needs wget "curl or wget"
  (
    # A write beyond the limit fails, instead of killing who writes. The limit is in blocks of half a kB
    # (of one, in bash by its own name), and one that is lower already may not be raised.
    trap '' XFSZ
    ulimit -f $(($2 * 2)) 2>/dev/null || [ "$(ulimit -f)" != unlimited ] || exit 1
    get_file "$1" "$3"
  ) || fail "cannot download $base/$1 within $2 kB and $3 seconds: nothing was changed"
}

# has_libc: whether glibc is here and new enough. Other C libraries have no `getconf`, or one that knows
# no such name.
has_libc() {
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || return 1
  libc=$(printf '%s\n' "$libc" | sed -n 's/^glibc \([0-9][0-9.]*\)$/\1/p')
  [ -n "$libc" ] && [ "$(printf '%s\n' "$libc_min" "$libc" | sort -V | head -n 1)" = "$libc_min" ]
}

# What stands behind the version in the archive's name, by processor and C library.
choose_kind() {
  case $(uname -m) in
  x86_64 | amd64) kind=x86_64-linux ;;
  aarch64 | arm64) kind=aarch64-linux && static=yes ;;
  *) fail "releases are for x86_64 and aarch64, and this is $(uname -m): build Weir here instead" ;;
  esac
  [ -n "$static" ] || has_libc || static=yes
  [ -z "$static" ] || kind=$kind-static
}

check_machine() {
  [ "$(uname -s)" = Linux ] || fail "releases are for Linux, and this is $(uname -s)"
  choose_kind
  needs ssh-keygen "openssh-client (openssh-clients on Fedora), which checks signatures"
  needs sha256sum coreutils
  needs timeout coreutils
  needs comm coreutils
  needs tar tar
  needs gzip gzip
  # So that Ctrl+C reaches what is downloaded with; BusyBox's has no such word and needs none.
  foreground=--foreground
  timeout "$foreground" 5 true 2>/dev/null || foreground=
}

# Where everything is put must be writable before anything is downloaded, and must not hold a program
# that came from elsewhere.
prepare_prefix() {
  lines_of f >"$work/ours"
  if [ -e "$prefix/$list" ] || [ -L "$prefix/$list" ]; then
    [ -s "$work/ours" ] || fail "$prefix/$list was not installed by this script: move it away"
  fi
  { echo bin/weir && paths_in "$work/ours"; } >"$work/known"
  refuse_foreign "$work/known"
  make_folder "$prefix" || fail "cannot make $prefix: choose another place with --prefix"
  # What a killed run left is nobody's after a day.
  find "$prefix" -maxdepth 1 -name '.weir-install.*' -mtime +0 -exec rm -rf {} + 2>/dev/null || true
  stage=$(mktemp -d "$prefix/.weir-install.XXXXXX" 2>/dev/null) ||
    fail "cannot write to $prefix: choose another place with --prefix"
  mkdir "$stage/new" "$stage/old"
}

check_signature() {
  if [ -n "${WEIR_RELEASE_SIGNERS:-}" ]; then
    [ -r "$WEIR_RELEASE_SIGNERS" ] || fail "cannot read $WEIR_RELEASE_SIGNERS"
    cp "$WEIR_RELEASE_SIGNERS" "$work/signers"
  elif [ -n "$signer" ]; then
    printf '%s\n' "$signer" >"$work/signers"
  else
    fail "this copy trusts no signer: take install.sh from a release, or name one by WEIR_RELEASE_SIGNERS"
  fi
  download SHA256SUMS "$sums_kbytes_max" "$sums_seconds_max"
  download SHA256SUMS.sig "$sums_kbytes_max" "$sums_seconds_max"
  ssh-keygen -Y verify -f "$work/signers" -I weir-release -n weir-release -s "$work/SHA256SUMS.sig" \
    <"$work/SHA256SUMS" >"$work/said" 2>&1 || {
    cat "$work/said" >&2
    fail "the signature of SHA256SUMS is not good: nothing was changed"
  }
}

# What the signed sums call the archive; the version is known from nowhere else.
find_archive() {
  archive=$(sed -n "s/^[0-9a-f]\{64\}  \(weir-[0-9A-Za-z.+-]*-$kind\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS")
  [ "$(printf '%s\n' "$archive" | grep -c .)" -eq 1 ] ||
    fail "SHA256SUMS does not name one archive for $kind: nothing was changed"
  version=${archive#weir-}
  version=${version%-"$kind".tar.gz}
  [ -z "$wanted" ] || [ "$wanted" = "$version" ] ||
    fail "$base has version $version, not $wanted: nothing was changed"
}

# newest_of VERSION...: what comes before a version (1.0.0-rc.1) is older than it. Not every `sort` knows a sign
# that stands before the end of a line, so the version itself is given a word that stands behind all others.
newest_of() {
  printf '%s\n' "$@" | sed '/-/!s/$/-zzzz/' | sort -V | tail -n 1 | sed 's/-zzzz$//'
}

# A place that shows an old release would bring old holes back; whoever wants that says so.
check_not_older() {
  [ -z "$wanted" ] && [ -x "$prefix/bin/weir" ] || return 0
  there=$("$prefix/bin/weir" --version 2>/dev/null | sed -n 's/^weir \([^ ]*\).*/\1/p') || there=
  [ -n "$there" ] || return 0
  [ "$(newest_of "$there" "$version")" = "$version" ] ||
    fail "$there is installed and $version is older: say --version $version if you want it"
}

check_archive() {
  download "$archive" "$archive_kbytes_max" "$archive_seconds_max"
  (cd "$work" && awk -v name="$archive" '$2 == name' SHA256SUMS >sum && sha256sum -c sum) \
    >"$work/said" 2>&1 || fail "$archive does not have the sum that was signed: nothing was changed"
}

# In the prefix itself, so that what follows is only renaming.
unpack() {
  tar -xzf "$work/$archive" -C "$stage/new" --no-same-owner --strip-components=1 ||
    fail "cannot unpack $archive in $prefix: nothing was changed"
  said=$("$stage/new/bin/weir" --version 2>&1) || {
    # A new glibc may be there without the loader or the other library that the program needs.
    [ -n "$static" ] || say "with --static the program is taken that needs no library of the system"
    fail "the program does not run on this machine, nothing was changed: ${said:-it said nothing}"
  }
  # What stands behind the version is the commit.
  case $said in
  "weir $version" | "weir $version "*) ;;
  *) fail "$archive holds \"$said\": nothing was changed" ;;
  esac
  (cd "$stage/new" && find . -type f -exec sha256sum {} +) | sed 's|^\([0-9a-f]*\)  \./|f \1 |' >"$work/new"
  # The program last: until it is there, nothing of the new version is used.
  { paths_in "$work/new" | grep -vx bin/weir && echo bin/weir; } >"$work/files"
  { cat "$work/files" && paths_in "$work/ours"; } | sort -u >"$work/both"
  refuse_foreign "$work/both"
}

# Makes the folders and keeps what is there now: the files of both versions, until the new one is whole.
prepare_places() {
  (cd "$stage/new" && find . -type d ! -name .) | sed 's|^\./||' | sort >"$work/folders"
  while read -r path; do
    make_folder "$prefix/$path" || fail "cannot make $prefix/$path: nothing was changed"
  done <"$work/folders"
  { cat "$work/both" && echo "$list"; } >"$work/touched"
  while read -r path; do
    [ -e "$prefix/$path" ] || continue
    { mkdir -p "$stage/old/${path%/*}" && cp -p "$prefix/$path" "$stage/old/$path"; } ||
      fail "cannot keep $prefix/$path: nothing was changed"
  done <"$work/touched"
  { lines_of d && sed 's/^/d /' "$work/made"; } | sort -u >"$work/folders_listed"
}

# write_list FILE: a list with these lines for files, in its place by one step.
write_list() {
  cat "$work/folders_listed" "$1" >"$stage/list" && mv -f "$stage/list" "$prefix/$list"
}

put_back() {
  say "ended early: what was there is put back"
  while read -r path; do
    if [ -e "$stage/old/$path" ]; then
      mv -f "$stage/old/$path" "$prefix/$path"
    else
      rm -f "$prefix/$path"
    fi || say "could not put back $prefix/$path"
  done <"$work/touched"
}

move() {
  moving=yes
  # When even this is ended without a word, each file is one version's or the other's, and ours.
  sort -u "$work/ours" "$work/new" >"$work/either"
  write_list "$work/either" || fail "cannot write $prefix/$list"
  while read -r path; do
    mv -f "$stage/new/$path" "$prefix/$path" ||
      fail "cannot write $prefix/$path"
  done <"$work/files"
  # Of the earlier version only; the list still names them when this ends early.
  moving=
  : >"$work/made"
  sort "$work/files" | comm -13 - "$work/both" >"$work/gone"
  while read -r path; do rm -f "$prefix/$path"; done <"$work/gone"
  write_list "$work/new"
}

install_weir() {
  check_machine
  : >"$work/made"
  prepare_prefix
  check_signature
  find_archive
  check_not_older
  check_archive
  unpack
  prepare_places
  move
  say "weir $version is installed in $prefix"
  case :$PATH: in
  *":$prefix/bin:"*) ;;
  *) say "$prefix/bin is not on your PATH: add it, or start $prefix/bin/weir" ;;
  esac
}

# Called in the last line: half a script that came through a pipe does nothing.
main() {
  prefix=${HOME:-}/.local
  wanted=
  static=
  act=install_weir
  while [ $# -gt 0 ]; do
    case $1 in
    --prefix | --version) [ $# -ge 2 ] || fail "$1 wants a value" ;;
    esac
    case $1 in
    --prefix) prefix=$2 && shift ;;
    --version) wanted=${2#v} && shift ;;
    --static) static=yes ;;
    --uninstall) act=uninstall ;;
    -h | --help) usage && exit 0 ;;
    *) fail "what is $1? --prefix DIR, --version VERSION, --static and --uninstall are known" ;;
    esac
    shift
  done
  case $prefix in
  /*) ;;
  *) prefix=$PWD/$prefix ;;
  esac
  [ "$prefix" = / ] || prefix=${prefix%/}
  base=$releases/latest/download
  [ -z "$wanted" ] || base=$releases/download/v$wanted
  base=${WEIR_RELEASE_URL:-$base}
  base=${base%/}
  umask 022
  # One order of letters, for all lists that are compared.
  export LC_ALL=C
  work=$(mktemp -d) || fail "cannot make a folder for temporary files"
  trap cleanup EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  "$act"
}

main "$@"
