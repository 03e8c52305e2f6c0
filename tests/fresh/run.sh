#!/usr/bin/env bash
# The README's first commands on a machine that has nothing: a bare Debian made by debootstrap, a user of its own, the
# packages that README names, and a Rust toolchain. By hand and as root, since it builds everything anew:
#   tests/fresh/run.sh [FOLDER]      FOLDER keeps the system for a look at it (default: a temporary one)
# Not here: what CI runs (a clean clone on a machine that has the tools).
set -euo pipefail
cd "$(dirname "$0")/../.."
source_dir=$PWD
[ "$(id -u)" -eq 0 ] || { echo "debootstrap and chroot need root"; exit 2; }
command -v debootstrap >/dev/null || { echo "debootstrap is missing: apt-get install debootstrap"; exit 2; }

root=${1:-$(mktemp -d)}
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
keep=${1:-}
cleanup() {
  ! mountpoint -q "$root/proc" || umount "$root/proc"
  [ -n "$keep" ] || rm -rf --one-file-system "$root" "$root.log"
}
trap cleanup EXIT

# What README tells people to install, as README tells it.
packages=$(sed -n 's/.*`\(build-essential\)`.*/\1/p' README.md | head -n 1)
[ -n "$packages" ] || { echo "README names no packages"; exit 1; }
[ -e "$root/etc/debian_version" ] ||
  debootstrap --variant=minbase --include="git,ca-certificates,$packages" "$release" "$root" >"$root.log" 2>&1 ||
  { tail -n 5 "$root.log"; exit 1; }

# The toolchain as rustup leaves it, certificates and name server of this machine.
mkdir -p "$root/opt/rust"
cp -a "$(rustc --print sysroot)/." "$root/opt/rust/"
rm -rf "$root/opt/rust/share/doc"
cp -aL /etc/ssl/certs/. "$root/etc/ssl/certs/" 2>/dev/null || true
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
chroot "$root" id you >/dev/null 2>&1 || chroot "$root" useradd --create-home --shell /bin/bash you
rm -rf "$root/home/you/weir"
git clone --quiet --no-hardlinks "$source_dir" "$root/home/you/weir"
chroot "$root" chown -R you:you /home/you

# The first block of commands in README, line by line, as the user.
mapfile -t commands < <(awk '/^```sh$/ { open = 1; next } /^```$/ && open { exit } open' README.md | sed 's/ *#.*//')
[ "${#commands[@]}" -ge 2 ] || { echo "README's first block has fewer than two commands"; exit 1; }
for line in "${commands[@]}"; do
  printf '\n$ %s\n' "$line"
  began=$SECONDS
  chroot --userspec=you:you "$root" /usr/bin/env -i HOME=/home/you USER=you LANG=C.UTF-8 TERM=dumb \
    PATH=/opt/rust/bin:/usr/bin:/bin bash -c "cd ~/weir && $line" 2>&1 | tee "$root/tmp/last.log" | tail -n 25
  printf '(%d seconds)\n' $((SECONDS - began))
done
# What the demo must have shown: a change that was made, and a command that ran.
grep -qF "+printf 'Hello, %s!" "$root/tmp/last.log" && grep -q 'c7 ok: Exit code 0' "$root/tmp/last.log" ||
  { echo "the demo did not do its job"; exit 1; }
ls -l "$root/home/you/weir/target/release/weir"
echo "1 passed, 0 failed"
