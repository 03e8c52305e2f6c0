#!/usr/bin/env bash
# What a release hands out (R9), made from the built program and judged by the programs of each system:
# dpkg, rpm, man, the shells, and ssh-keygen below the installer. Everything is installed into throwaway
# folders, never on this machine. Not here: the release profile, and Homebrew itself.
# shellcheck disable=SC2016 # What stands in single quotes is for shells that are started, or a pattern.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
xtask=${WEIR_XTASK_BIN:-$target/debug/xtask}
any_python
needs "$weir" "cargo build -p weir"
[ -n "${WEIR_XTASK_BIN:-}" ] || (cd "$root" && cargo build --locked --quiet --package xtask)
installed packages \
  "dpkg, rpm, openssh-client, curl, wget, man-db, zsh, fish, shellcheck, busybox, binutils, util-linux, gcc" \
  dpkg-deb rpmbuild ssh-keygen curl wget man zsh fish shellcheck busybox strip unshare cc
builder=$HOME
weir_home "$scratch/person"
unset WEIR_RELEASE_URL WEIR_RELEASE_SIGNERS
# What anything leaves of its temporary files is seen, and goes with the rest.
temporary=$scratch/temporary
mkdir -p "$temporary"
export TMPDIR=$temporary
# Packages are put into their throwaway roots by root, or by whoever is root in a namespace.
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(unshare --user --map-root-user)

for key in key other; do ssh-keygen -q -t ed25519 -N '' -C '' -f "$scratch/$key"; done
strip -o "$scratch/weir" "$weir"
# In the place of a static build, which takes as long as the other (`static.sh`): a static program that hands
# over to the real one.
printf '#include <unistd.h>\nint main(int n, char **words) { (void)n; return execv("%s", words); }\n' \
  "$scratch/weir" >"$scratch/static.c"
cc -static -o "$scratch/weir-static" "$scratch/static.c"
export SOURCE_DATE_EPOCH=1700000000
served=$scratch/served
mkdir -p "$served"
packaged() {
  # Cargo is asked too, and is found from the home of whoever runs this.
  HOME=$builder "$xtask" package --binary "$scratch/weir" --static-program "$scratch/weir-static" \
    --out "$1" --key "$scratch/key" --level 1
}

same_bytes() {
  (umask 077 && cd / && export TZ=Asia/Tokyo LANG=C.UTF-8 && packaged "$scratch/again") &&
    (cd "$served/good" && sha256sum -- *) >"$scratch/one" &&
    (cd "$scratch/again" && sha256sum -- *) >"$scratch/two" &&
    diff "$scratch/one" "$scratch/two" && rm -rf "$scratch/again"
}

# fails WORDS COMMAND...: it fails and says why.
fails() {
  local words=$1
  shift
  if "$@" >"$scratch/said" 2>&1; then
    echo "it passed: $*"
    return 1
  fi
  grep -F -- "$words" "$scratch/said" || { cat "$scratch/said" && return 1; }
}

# Up to where it would compress for minutes: the tag's version is not the program's. The key is gone then.
release_script() {
  (cd / && export HOME=$builder TMPDIR=$scratch/keys WEIR_XTASK_BIN=$xtask SIGNING_KEY &&
    SIGNING_KEY=$(cat "$scratch/key") && mkdir -p "$TMPDIR" &&
    fails "not 9.9.9" "$root/deploy/release.sh" "$scratch/weir" v9.9.9 "$scratch/none" "$scratch/weir-static") &&
    [ -z "$(ls "$scratch/keys")" ]
}

# What it starts sees the key in a file and nowhere else, and a signal from there leaves no key.
stopped_release() {
  local signal status
  printf '%s\n' '#!/bin/sh' 'cat "$TMPDIR"/*/key >"$TMPDIR.seen"' 'env >"$TMPDIR.environment"' \
    'kill -"$SIGNAL" $PPID' >"$scratch/stopping" && chmod +x "$scratch/stopping" && mkdir -p "$scratch/keys" || return 1
  for signal in HUP:129 INT:130 TERM:143; do
    rm -f "$scratch/keys.seen" "$scratch/keys.environment"
    env TMPDIR="$scratch/keys" WEIR_XTASK_BIN="$scratch/stopping" SIGNAL="${signal%:*}" \
      SIGNING_KEY="$(cat "$scratch/key")" sh "$root/deploy/release.sh" "$scratch/weir" v9.9.9 "$scratch/none"
    status=$?
    if [ "$status" -ne "${signal#*:}" ] || [ -n "$(ls "$scratch/keys")" ] || [ ! -s "$scratch/keys.environment" ] ||
      ! cmp "$scratch/key" "$scratch/keys.seen" || grep -q 'PRIVATE KEY' "$scratch/keys.environment"; then
      echo "ended with $status by $signal"
      return 1
    fi
  done
}

# works ROOT ZSH: what lies below a prefix is whole: the program, the pages, the completions.
works() {
  local pages
  [ "$("$1/bin/weir" --version)" = "weir $version" ] || return 1
  "$1/bin/weir" demo >"$scratch/demo" 2>&1 && grep '^completed: ' "$scratch/demo" || return 1
  man -P cat -l "$(ls "$1/share/man/man1/weir-mcp-servers-add.1"*)" | grep -q 'weir.mcp.servers.add' || return 1
  # A page for each command that the reference has.
  pages=$(cd "$1/share/man/man1" && printf '%s\n' * | sed 's/\.1\(\.gz\)\?$//' | sort)
  diff <(sed -n 's/^#* `\(weir[a-z -]*\)`$/\1/p' "$root/docs/generated/cli.md" | tr ' ' - | sort) \
    <(printf '%s\n' "$pages") || return 1
  bash -c '. "$1" && complete -p weir' bash "$1/share/bash-completion/completions/weir" || return 1
  zsh -f -c 'autoload -U compinit && compinit -u -D && . "$1" && whence _weir' zsh "$1/share/zsh/$2/_weir" || return 1
  fish --no-config -c 'source $argv[1]; complete -C "weir mcp-s"' \
    "$1/share/fish/vendor_completions.d/weir.fish" | grep -q '^mcp-servers' || return 1
  [ -s "$1/share/doc/weir/README.md" ]
}

# server_unit ROOT: the unit of the server starts the program that came with it, as the user that comes, too.
server_unit() {
  local unit=$1/usr/lib/systemd/system/weir.service
  [ "$(sed -n 's/^ExecStart=//p' "$unit")" = "/usr/bin/weir serve" ] && [ -x "$1/usr/bin/weir" ] &&
    [ "$(sed -n 's/^User=//p' "$unit")" = "$(awk '$1 == "u" { print $2 }' "$1/usr/lib/sysusers.d/weir.conf")" ] &&
    [ "$(awk '$1 == "d" { print $2, $4 }' "$1/usr/lib/tmpfiles.d/weir.conf")" = "/etc/weir weir" ]
}

# nothing_left ROOT: no file but those of the system's own books.
nothing_left() {
  local left
  left=$(find "$1" -path "$1/var/lib" -prune -o ! -type d -print)
  [ -z "$left" ] || { echo "left: $left" && return 1; }
}

# timed NAME COMMAND...: how long it took is told at the end; more than a minute is a failure.
timed() {
  local name=$1 began took status=0
  shift
  began=$(date +%s%3N)
  "$@" || status=$?
  took=$(($(date +%s%3N) - began))
  printf '%s installs in %d.%d s\n' "$name" $((took / 1000)) $((took % 1000 / 100)) >>"$scratch/times"
  [ "$status" -eq 0 ] && { [ "$took" -lt 60000 ] || { echo "$name took $took ms" && return 1; }; }
}

in_deb() {
  "${as_root[@]}" dpkg --root="$scratch/deb" --force-not-root --force-depends --log="$scratch/dpkg.log" "$@"
}

deb() {
  mkdir -p "$scratch/deb/var/lib/dpkg/info" "$scratch/deb/var/lib/dpkg/updates"
  : >"$scratch/deb/var/lib/dpkg/status"
  dpkg-deb --field "$served/good"/weir_*.deb Depends | grep -q '^libc6 (>= 2\.[0-9]*), ' &&
    timed "the .deb" in_deb --install "$served/good"/weir_*.deb && in_deb --verify weir &&
    works "$scratch/deb/usr" vendor-completions && server_unit "$scratch/deb" &&
    [ -z "$(find "$scratch/deb/usr" ! -uid "$(id -u)" -o -perm /022)" ] &&
    in_deb --purge weir && nothing_left "$scratch/deb"
}

in_rpm() {
  "${as_root[@]}" rpm --root "$scratch/rpm" --dbpath /var/lib/rpm "$@"
}

rpm_package() {
  mkdir -p "$scratch/rpm/var/lib/rpm"
  rpm -qp --requires "$served/good"/weir-*.rpm | grep -q '^libc\.so\.6(GLIBC_2' &&
    in_rpm --initdb && timed "the .rpm" in_rpm --install --force-debian --nodeps "$served/good"/weir-*.rpm &&
    in_rpm --verify --nodeps weir && works "$scratch/rpm/usr" site-functions && server_unit "$scratch/rpm" &&
    in_rpm --erase --nodeps weir && nothing_left "$scratch/rpm"
}

# Homebrew and editors take the static archive: they do not look at the C library.
formula() {
  local sum
  sum=$(cd "$served/good" && sha256sum "$static" | cut -d ' ' -f 1) &&
    grep -qF "sha256 \"$sum\"" "$served/good/weir.rb" && ! grep '@' "$served/good/weir.rb" &&
    grep -qF "/v$version/$static\"" "$served/good/weir.rb" && grep -q 'arch: :x86_64' "$served/good/weir.rb"
}

# The archive has all that the other has, and another program; its list of parts has the allocator.
static_archive() {
  local one=$scratch/one-tree other=$scratch/other-tree
  mkdir -p "$one" "$other" && tar -xzf "$served/good/$archive" -C "$one" --strip-components=1 &&
    tar -xzf "$served/good/$static" -C "$other" --strip-components=1 &&
    cmp "$other/bin/weir" "$scratch/weir-static" && works "$other" site-functions &&
    rm "$one/bin/weir" "$other/bin/weir" && diff -r "$one" "$other" &&
    grep -q '"tikv-jemallocator"' "$served/good/${static%.tar.gz}.cdx.json" &&
    ! grep -q '"tikv-jemallocator"' "$served/good/${archive%.tar.gz}.cdx.json"
}

# What needs a library, and two for one processor, are no static programs to hand out.
no_static_program() {
  fails "is not static, it needs" "$xtask" package --binary "$scratch/weir" --static-program "$scratch/weir" \
    --out "$scratch/none" --key "$scratch/key" &&
    fails "two static programs for x86_64" "$xtask" package --binary "$scratch/weir" \
      --static-program "$scratch/weir-static" --static-program "$scratch/weir-static" \
      --out "$scratch/none" --key "$scratch/key"
}

# What the registry's own checks ask of an entry (its CONTRIBUTING and schema), and that what it names is
# in the archive and speaks the protocol.
registry_entry() {
  local unpacked=$scratch/registry
  mkdir -p "$unpacked" && tar -xzf "$served/good/$static" -C "$unpacked" &&
    python3 - "$served/good" "$version" "$unpacked" <<'PY'
import hashlib, json, pathlib, re, subprocess, sys
place, version, unpacked = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
entry = json.loads((place / "agent.json").read_text())
known = "id name version description repository website authors license license_url icon distribution"
assert set(entry) <= set(known.split()), entry
assert entry["id"] == "weir" and entry["version"] == version, entry
assert set(entry["distribution"]) == {"binary"}
for platform, target in entry["distribution"]["binary"].items():
    assert platform in ("linux-x86_64", "linux-aarch64", "darwin-x86_64", "darwin-aarch64"), platform
    assert set(target) <= {"archive", "sha256", "cmd", "args", "env"}, target
    assert f"/v{version}/" in target["archive"] and "latest" not in target["archive"], target
    archive = place / target["archive"].rsplit("/", 1)[1]
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == target["sha256"], target
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
             "params": {"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": True}}}}
    # As the registry's check starts it: with a home of its own in which nothing is set up.
    env = {"HOME": str(unpacked), "PATH": "/usr/bin:/bin"}
    said = subprocess.run([str(unpacked / target["cmd"]), *target["args"]], cwd=unpacked, env=env,
                          input=json.dumps(hello) + "\n", capture_output=True, text=True, timeout=60)
    answer = json.loads(said.stdout.splitlines()[0])["result"]
    ways = [way.get("type", "agent") for way in answer["authMethods"]]
    assert "terminal" in ways or "agent" in ways, answer
icon = (place / "icon.svg").read_text()
assert 'width="16" height="16" viewBox="0 0 16 16"' in icon, icon
colours = re.findall(r'(?:fill|stroke)="([^"]*)"', icon)
assert colours and set(colours) <= {"currentColor", "none"}, colours
PY
}

# The very commands of the page, with the line of the installer; what was changed does not pass.
by_hand() {
  local place=$served/by-hand
  copied by-hand && sed -n "s/^signer='\(.*\)'\$/\1/p" "$place/install.sh" >"$place/signers" &&
    sed -n '/^## Check a signature by hand$/,/^## Uninstall$/{/^```sh$/,/^```$/{/^```/!p}}' \
      "$root/docs/install.md" >"$scratch/by-hand.sh" && [ "$(grep -c . "$scratch/by-hand.sh")" -eq 2 ] &&
    (cd "$place" && sh -e "$scratch/by-hand.sh" | tee "$scratch/said") && grep -q "^$archive: OK$" "$scratch/said" &&
    own "$place/$archive" && printf x >>"$place/$archive" && (cd "$place" && ! sh -e "$scratch/by-hand.sh")
}

prefix=$scratch/person/own/prefix
# installer FOLDER ARGUMENT...: from what is served there.
installer() {
  local folder=$1
  shift
  WEIR_RELEASE_URL=http://127.0.0.1:$port/$folder sh "${script:-$served/good/install.sh}" --prefix "$prefix" "$@"
}

# state FOLDER: every file, link and folder with what is in it.
state() {
  [ -d "$1" ] || { echo "no folder $1" && return 0; }
  (cd "$1" && find . | sort && find . -type f -exec sha256sum {} + | sort)
}

nothing_temporary() {
  [ -z "$(ls "$temporary")" ] || { echo "left: $(ls "$temporary")" && return 1; }
}

# refused WORDS FOLDER ARGUMENT...: the installer says why, and nothing has changed.
refused() {
  local words=$1 before
  shift
  before=$(state "$prefix")
  fails "$words" installer "$@" && diff <(echo "$before") <(state "$prefix") && nothing_temporary
}

# copied NAME: another place of releases, with links to the files of the good one.
copied() {
  rm -rf "${served:?}/$1" && cp -al "$served/good" "$served/$1"
}

# own FILE: a copy that can be changed, instead of the link.
own() {
  cp "$1" "$1.own" && mv "$1.own" "$1"
}

signed() {
  rm -f "$1/SHA256SUMS.sig"
  ssh-keygen -q -Y sign -n "${3:-weir-release}" -f "$scratch/$2" "$1/SHA256SUMS"
}

changed_places() {
  copied changed-archive && own "$served/changed-archive/$archive" && printf x >>"$served/changed-archive/$archive"
  copied short-archive && own "$served/short-archive/$archive" && truncate -s 1000000 "$served/short-archive/$archive"
  copied changed-sums && own "$served/changed-sums/SHA256SUMS" && own "$served/changed-sums/$archive" &&
    printf x >>"$served/changed-sums/$archive" && (cd "$served/changed-sums" && sha256sum -- weir* >SHA256SUMS)
  copied other-signer && signed "$served/other-signer" other
  copied other-purpose && signed "$served/other-purpose" key file
  copied no-signature && rm "$served/no-signature/SHA256SUMS.sig"
  copied no-archive && rm "$served/no-archive/$archive"
}

# made_version VERSION [COMMAND [PLACE [KIND]]]: a small release that is served as VERSION, or as PLACE: a page
# less, another more. Its program is that command, or says the version. It is added to what lies in the place.
made_version() {
  local name=weir-$1-${4:-x86_64-linux} place=$served/${3:-$1}
  mkdir -p "$scratch/made/$name" "$place"
  tar -xzf "$served/good/$archive" -C "$scratch/made/$name" --strip-components=1 --exclude=bin/weir
  mkdir -p "$scratch/made/$name/bin"
  printf '#!/bin/sh\n%s\n' "${2:-echo weir $1}" >"$scratch/made/$name/bin/weir"
  chmod +x "$scratch/made/$name/bin/weir"
  rm "$scratch/made/$name/share/man/man1/weir-undo.1"
  echo "$1" >"$scratch/made/$name/share/man/man1/weir-new.1"
  tar -czf "$place/$name.tar.gz" -C "$scratch/made" "$name" &&
    (cd "$place" && sha256sum -- *.tar.gz >SHA256SUMS) && signed "$place" key
}

# Which of them was installed is seen in the program.
both_kinds() {
  made_version 99.0.0 "echo weir 99.0.0 # for glibc" both-kinds &&
    made_version 99.0.0 "echo weir 99.0.0 # static" both-kinds x86_64-linux-static &&
    made_version 99.0.0 "echo weir 99.0.0 # for ARM" both-kinds aarch64-linux-static
}

# Signed well, and of a kind of their own: the program does not start, is another or says its commit; or there
# are two.
odd_versions() {
  made_version 99.2.0 "exit 3" && made_version 99.3.0 "echo weir 99.2.0" &&
    made_version 99.1.0 "echo 'weir 99.1.0 (1d6ab1a9 2026-11-30)'" with-commit &&
    both_kinds && copied two-archives && own "$served/two-archives/SHA256SUMS" &&
    cat "$served/99.0.0/SHA256SUMS" >>"$served/two-archives/SHA256SUMS" && signed "$served/two-archives" key
}

# with_mv LINE COMMAND...: `mv` is ours, and LINE is what it does at its hundredth call.
with_mv() {
  local line=$1
  shift
  mkdir -p "$scratch/bin" && echo 0 >"$scratch/calls"
  printf '#!/bin/sh\nn=$(($(cat "%s") + 1))\necho $n >"%s"\n[ $n -ne 100 ] || { %s; }\nexec %s "$@"\n' \
    "$scratch/calls" "$scratch/calls" "$line" "$(command -v mv)" >"$scratch/bin/mv"
  chmod +x "$scratch/bin/mv"
  PATH=$scratch/bin:$PATH "$@" && [ "$(cat "$scratch/calls")" -ge 100 ]
}

# with_short_time COMMAND...: `timeout` is ours, and waits a second whatever it is told.
with_short_time() {
  mkdir -p "$scratch/short"
  printf '#!/bin/sh\n[ "$1" = --foreground ] && shift 2 && exec %s --foreground 1 "$@"\n' \
    "$(command -v timeout)" >"$scratch/short/timeout"
  chmod +x "$scratch/short/timeout"
  PATH=$scratch/short:$PATH "$@"
}

# with_machine WORD COMMAND...: on a machine of another kind.
with_machine() {
  local word=$1
  shift
  mkdir -p "$scratch/machine"
  printf '#!/bin/sh\n[ "$1" = -m ] && echo %s || echo Linux\n' "$word" >"$scratch/machine/uname"
  chmod +x "$scratch/machine/uname"
  PATH=$scratch/machine:$PATH "$@"
}

# with_libc WORDS COMMAND...: on a machine whose `getconf` says that, or fails where there are no words.
with_libc() {
  local words=$1
  shift
  mkdir -p "$scratch/libc"
  printf '#!/bin/sh\nwords="%s"\n[ "$1" = GNU_LIBC_VERSION ] && [ -n "$words" ] && echo "$words"\n' "$words" \
    >"$scratch/libc/getconf"
  chmod +x "$scratch/libc/getconf"
  PATH=$scratch/libc:$PATH "$@"
}

# installs_kind WORDS ARGUMENT...: the program with these words is installed, and removed again.
installs_kind() {
  local words=$1
  shift
  installer both-kinds "$@" && grep "# $words\$" "$prefix/bin/weir" && installer both-kinds --uninstall
}

chooses_kind() {
  with_libc "glibc 2.36" installs_kind "for glibc" && with_libc "glibc 2.100" installs_kind "for glibc" &&
    with_libc "glibc 2.35" installs_kind static && with_libc "" installs_kind static &&
    with_libc "something else" installs_kind static && with_libc "glibc 2.40" installs_kind static --static &&
    with_machine aarch64 installs_kind "for ARM" && installer both-kinds &&
    installer both-kinds --static && grep '# static$' "$prefix/bin/weir" && installer both-kinds --uninstall
}

# A small system: the programs of BusyBox, `comm` (which Debian's lacks), curl and ssh-keygen.
with_busybox() {
  local word small=$scratch/busybox
  mkdir -p "$small"
  for word in $(busybox --list); do ln -sf "$(command -v busybox)" "$small/$word"; done
  for word in comm curl ssh-keygen; do ln -sf "$(command -v $word)" "$small/$word"; done
  (export PATH=$small && hash -r && ! timeout --foreground 1 true && installs_kind static &&
    fails "does not name one archive for x86_64-linux-static" installer 99.0.0 && nothing_temporary)
}

installs() {
  timed "the script" installer good && works "$prefix" site-functions &&
    [ -z "$(find "$prefix" -name '.weir-install*')" ] && nothing_temporary
}

again() {
  local before
  before=$(state "$prefix")
  installer good && diff <(echo "$before") <(state "$prefix")
}

upgrades() {
  installer 99.0.0 && [ "$("$prefix/bin/weir" --version)" = "weir 99.0.0" ] &&
    [ -e "$prefix/share/man/man1/weir-new.1" ] && [ ! -e "$prefix/share/man/man1/weir-undo.1" ]
}

# A program that is handed out says its commit behind its version.
with_commit() {
  local said='weir 99.1.0 (1d6ab1a9 2026-11-30)'
  installer with-commit && [ "$("$prefix/bin/weir" --version)" = "$said" ] && refused "is older" 99.0.0 &&
    installer with-commit && installer 99.1.0
}

# not_older THERE OFFERED: the installer takes the second where the first is installed.
not_older() {
  printf '#!/bin/sh\necho "weir %s (1d6ab1a9 2026-11-30)"\n' "$1" >"$scratch/order/bin/weir"
  sh -c '. "$0" && prefix=$1 wanted="" version=$2 && check_not_older' \
    "$scratch/order/functions" "$scratch/order" "$2"
}

# By the `sort` of this system, and by BusyBox's.
orders_versions() {
  local path
  mkdir -p "$scratch/order/bin" "$scratch/order/busybox"
  # All but its last line, which begins.
  sed '$d' "$served/good/install.sh" >"$scratch/order/functions"
  : >"$scratch/order/bin/weir" && chmod +x "$scratch/order/bin/weir"
  ln -sf "$(command -v busybox)" "$scratch/order/busybox/sort"
  for path in "$PATH" "$scratch/order/busybox:$PATH"; do
    (export PATH=$path && hash -r && not_older 1.0.0-rc.1 1.0.0 && not_older 1.0.0-rc.2 1.0.0-rc.10 &&
      not_older 1.9.0 1.10.0-rc.1 && not_older 1.0.0 1.0.0 && ! not_older 1.0.0 1.0.0-rc.1 &&
      ! not_older 1.10.0 1.9.0) || return 1
  done
}

goes_back() {
  refused "is older" good && installer good --version "v$version" && works "$prefix" site-functions &&
    [ ! -e "$prefix/share/man/man1/weir-new.1" ]
}

uninstalls() {
  mkdir -p "$prefix/bin" && echo mine >"$prefix/bin/other" && installer good --uninstall &&
    [ "$(cd "$prefix" && find . | sort | tr '\n' ' ')" = '. ./bin ./bin/other ' ] && rm -r "$prefix"
}

leaves_nothing() {
  installer 99.0.0 && installer 99.0.0 --uninstall && [ ! -e "$prefix" ] &&
    refused "nothing that this script installed" good --uninstall
}

# A file is there already; and a place where not even root makes a folder.
unwritable() {
  mkdir -p "${prefix%/*}" && : >"$prefix" && refused "cannot make $prefix" good && rm "$prefix" || return 1
  prefix=/proc/self fails "cannot write to /proc/self" installer good
}

foreign_program() {
  mkdir -p "$prefix/bin" && echo mine >"$prefix/bin/weir" &&
    refused "bin/weir was not installed by this script" good &&
    ln -sf nowhere "$prefix/bin/weir" && refused "bin/weir was not installed by this script" good && rm -r "$prefix"
}

# Whatever else would be written over: a file, a link, a link that leads nowhere, a list that is none.
foreign_files() {
  local path way
  for path in share/fish/vendor_completions.d/weir.fish share/man/man1/weir.1 share/doc/weir/installed; do
    for way in "cp $scratch/key.pub" "ln -s $scratch/key.pub" "ln -s nowhere" mkdir; do
      mkdir -p "$prefix/${path%/*}" && $way "$prefix/$path" &&
        refused "$path was not installed by this script" 99.0.0 && rm -r "$prefix" || return 1
    done
  done
}

# What somebody changed after the install is kept by whatever comes then, and is named.
changed_program() {
  installer good && cp "$prefix/share/man/man1/weir.1" "$scratch/page" &&
    echo mine >"$prefix/share/man/man1/weir.1" && refused "man1/weir.1 was not installed by this script" 99.0.0 &&
    cp "$scratch/page" "$prefix/share/man/man1/weir.1" && rm "$prefix/bin/weir" &&
    echo mine >"$prefix/bin/weir" && refused "bin/weir was not installed by this script" 99.0.0 &&
    refused "bin/weir was not installed by this script" good
}

changed_program_stays() {
  fails "bin/weir was changed since" installer good --uninstall &&
    [ "$(cd "$prefix" && find . | sort | tr '\n' ' ')" = '. ./bin ./bin/weir ' ] &&
    [ "$(cat "$prefix/bin/weir")" = mine ] && rm -r "$prefix"
}

# Ended so that nothing can be put back: whatever lies there then is still known as ours.
killed() {
  installer good || return 1
  with_mv 'kill -KILL $PPID' fails "" installer 99.0.0 && ls -d "$prefix"/.weir-install.* || return 1
  rm -r "$prefix"/.weir-install.* "${temporary:?}"/*
  cp -a "$prefix" "$scratch/half" && installer 99.0.0 && [ "$("$prefix/bin/weir" --version)" = "weir 99.0.0" ] &&
    installer 99.0.0 --uninstall && [ ! -e "$prefix" ] || return 1
  mv "$scratch/half" "$prefix" && installer good --uninstall && [ ! -e "$prefix" ]
}

# Folders above the prefix too, by a run that fails and by one that takes away; however it is spelled.
folders_above() {
  local prefix=$scratch/person/a//b/c//
  refused "cannot download" no-archive && [ ! -e "$scratch/person/a" ] &&
    installer 99.0.0 && [ -x "$prefix/bin/weir" ] && installer 99.0.0 --uninstall && [ ! -e "$scratch/person/a" ]
}

endless() {
  refused "cannot download" endless-sums/good && refused "within 500000 kB" endless/99.0.0
}

# The copy in the repository trusts nobody, until somebody says whom.
repository_copy() {
  local script=$root/deploy/install.sh
  refused "trusts no signer" good &&
    printf 'weir-release namespaces="weir-release" %s\n' "$(cat "$scratch/key.pub")" >"$scratch/signers" &&
    WEIR_RELEASE_SIGNERS=$scratch/signers installer 99.0.0 && installer good --uninstall &&
    printf 'weir-release namespaces="weir-release" %s\n' "$(cat "$scratch/other.pub")" >"$scratch/signers" &&
    WEIR_RELEASE_SIGNERS=$scratch/signers refused "is not good" good
}

# The Action takes the release of its own version, signed by whom that version names.
action_installs() {
  local tools=$scratch/runner-tools
  mkdir -p "$scratch/runner" "$tools" && ln -sf /usr/bin/* "$tools/" && rm -f "$tools/weir" || return 1
  printf 'weir-release namespaces="weir-release" %s\n' "$(cat "$scratch/key.pub")" >"$scratch/signers"
  (export PATH=$tools GITHUB_OUTPUT=$scratch/runner/output RUNNER_TEMP=$scratch/runner
    export WEIR_RELEASE_URL=http://127.0.0.1:$port/good
    fails "nobody has signed" bash "$root/deploy/action.sh" install &&
      WEIR_RELEASE_SIGNERS=$scratch/signers bash "$root/deploy/action.sh" install &&
      "$(sed -n 2p "$GITHUB_OUTPUT")" --version | grep -xF "weir $version" &&
      WEIR_ACTION_VERSION=98.0.0 WEIR_RELEASE_SIGNERS=$scratch/signers fails "not 98.0.0" \
        bash "$root/deploy/action.sh" install)
}

# With wget where there is no curl: it installs, and what breaks off is refused too.
with_wget() {
  mkdir -p "$scratch/wget" && ln -sf /usr/bin/* "$scratch/wget/" && rm "$scratch/wget/curl" || return 1
  (export PATH=$scratch/wget && ! command -v curl && installer 99.0.0 && installer 99.0.0 --uninstall &&
    refused "cannot download" cut/99.0.0 && refused "cannot download" no-signature && endless &&
    with_short_time refused "cannot download" slow/99.0.0)
}

# Cut anywhere, a script that comes through a pipe does nothing.
half_script() {
  local size share
  size=$(stat -c %s "$served/good/install.sh")
  for share in 20 50 80 99; do
    head -c $((size * share / 100)) "$served/good/install.sh" |
      WEIR_RELEASE_URL=http://127.0.0.1:$port/99.0.0 HOME=$scratch/person/piped sh || true
    [ ! -e "$scratch/person/piped" ] || return 1
  done
  WEIR_RELEASE_URL=http://127.0.0.1:$port/99.0.0 HOME=$scratch/person/piped sh <"$served/good/install.sh" &&
    "$scratch/person/piped/.local/bin/weir" --version && rm -r "$scratch/person/piped"
}

checked "r9_a_release_is_made_from_the_program" packaged "$served/good"
if [ "$failed" -gt 0 ]; then
  closing packages
  exit 1
fi
archive=$(cd "$served/good" && echo weir-*-x86_64-linux.tar.gz)
static=${archive%.tar.gz}-static.tar.gz
version=${archive#weir-}
version=${version%-x86_64-linux.tar.gz}
port=$(free_port)
"$python" "$root/tests/outside/packages/serve.py" "$port" "$served" &
started+=($!)
wait_for "http://127.0.0.1:$port/good/SHA256SUMS"

checked "r9_the_same_program_gives_the_same_bytes" same_bytes
checked "r9_another_version_than_the_tag_is_refused" fails "not 9.9.9" "$xtask" package \
  --binary "$scratch/weir" --out "$scratch/none" --key "$scratch/key" --version v9.9.9
checked "r9_a_folder_with_other_files_is_refused" fails "is not empty" packaged "$served/good"
checked "r9_the_release_script_refuses_without_a_key" fails "SIGNING_KEY is empty" env -u SIGNING_KEY \
  "$root/deploy/release.sh" "$scratch/weir" "$version" "$scratch/none"
checked "r9_the_release_script_calls_the_same" release_script
checked "r9_a_release_that_is_stopped_leaves_no_key" stopped_release
checked "r9_a_program_for_newer_systems_only_is_refused" fails "the program asks for glibc" "$xtask" package \
  --binary "$scratch/weir" --out "$scratch/none" --key "$scratch/key" --libc-max 2.2
checked "r9_the_deb_installs_works_and_is_removed" deb
checked "r9_the_rpm_installs_works_and_is_removed" rpm_package
checked "r9_the_static_archive_has_the_same_around_another_program" static_archive
checked "r9_what_is_not_static_is_refused" no_static_program
checked "r9_the_formula_names_the_archive_and_its_sum" formula
checked "r1_the_entry_of_the_registry_names_the_archive_and_starts_it" registry_entry
checked "r9_the_signature_is_checked_by_hand_as_the_page_says" by_hand
checked "r9_the_installer_is_plain_sh" shellcheck "$root"/deploy/*.sh

changed_places
for new in 99.0.0 99.1.0; do made_version "$new"; done
odd_versions
checked "r9_install_refuses_a_changed_archive" refused "does not have the sum" changed-archive
checked "r9_install_refuses_a_short_archive" refused "does not have the sum" short-archive
checked "r9_install_refuses_changed_sums" refused "is not good" changed-sums
checked "r9_install_refuses_another_signer" refused "is not good" other-signer
checked "r9_install_refuses_a_signature_for_something_else" refused "is not good" other-purpose
checked "r9_install_refuses_a_missing_signature" refused "cannot download" no-signature
checked "r9_install_refuses_a_missing_archive" refused "cannot download" no-archive
checked "r9_install_refuses_a_download_that_breaks_off" refused "cannot download" cut/good
checked "r9_install_refuses_downloads_without_end" endless
checked "r9_install_does_not_wait_for_ever" with_short_time refused "cannot download" slow/99.0.0
checked "r9_install_refuses_a_program_that_does_not_start" refused "not run on this machine" 99.2.0
checked "r9_install_names_the_other_program_where_one_does_not_start" with_libc "glibc 2.40" refused "with --static" 99.2.0
checked "r9_install_says_why_when_the_program_says_nothing" refused "it said nothing" 99.2.0
checked "r9_install_refuses_a_program_of_another_version" refused 'holds "weir 99.2.0"' 99.3.0
checked "r9_install_refuses_two_archives" refused "does not name one archive" two-archives
checked "r9_install_refuses_another_machine" with_machine riscv64 refused "this is riscv64" good
checked "r9_install_refuses_a_processor_without_an_archive" with_machine aarch64 refused \
  "does not name one archive for aarch64-linux-static" good
checked "r9_install_takes_the_program_that_fits_the_c_library" chooses_kind
checked "r9_install_works_with_busybox" with_busybox
checked "r9_install_refuses_a_place_that_cannot_be_written" unwritable
checked "r9_install_refuses_a_program_from_elsewhere" foreign_program
checked "r9_install_refuses_files_from_elsewhere" foreign_files
checked "r9_install_takes_back_every_folder" folders_above
checked "r9_install_refuses_a_version_that_is_not_there" refused "not 9.9.9" good --version 9.9.9
checked "r9_install_of_the_repository_trusts_nobody" repository_copy
checked "r7_the_action_installs_the_release_of_its_own_version" action_installs
checked "r9_install_without_curl_takes_wget" with_wget
checked "r9_install_cut_in_a_pipe_does_nothing" half_script
checked "r9_install_that_fails_at_first_leaves_nothing" with_mv "exit 1" refused "is put back" 99.0.0
checked "r9_install_puts_everything_in_its_place" installs
checked "r9_install_again_changes_nothing" again
checked "r9_install_that_fails_leaves_the_version_before" with_mv "exit 1" refused "is put back" 99.0.0
checked "r9_install_that_is_stopped_leaves_the_version_before" \
  with_mv 'kill -TERM $PPID' refused "is put back" 99.0.0
checked "r9_install_upgrades" upgrades
checked "r9_install_refuses_an_older_version_unless_it_is_named" goes_back
checked "r9_install_knows_what_comes_before_a_version" orders_versions
checked "r9_install_after_an_upgrade_upgrades_again" installer 99.1.0
checked "r9_install_takes_a_program_that_says_its_commit" with_commit
checked "r9_uninstall_leaves_what_is_not_ours" uninstalls
checked "r9_uninstall_leaves_nothing" leaves_nothing
checked "r9_install_refuses_a_program_that_was_changed" changed_program
checked "r9_uninstall_leaves_and_names_what_was_changed" changed_program_stays
checked "r9_an_install_that_was_killed_is_taken_up" killed
# Of this build, which is no release, and packed in haste.
(cd "$served/good" && du --apparent-size --block-size=MB -- weir-*.tar.gz weir_*.deb weir-*.rpm && cat "$scratch/times") |
  sed 's/^/note  /' || true
closing packages
