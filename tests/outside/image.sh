#!/usr/bin/env bash
# The container image (R9): built by buildah from deploy/Containerfile, whole but for the compiler, and
# started as the image says. The systems that it builds on are made here by debootstrap; `cargo` in the
# first of them hands over the program that is built already. Not here: what the server does then.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
any_python
needs "$weir" "cargo build -p weir"
installed image "buildah, debootstrap, curl, binutils" buildah debootstrap curl strip
[ "$(id -u)" -eq 0 ] || skipped image "debootstrap and chroot need root"

# Everything of buildah's lies in the scratch folder, and no program of the machine runs containers.
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot CONTAINERS_STORAGE_CONF=$scratch/storage.conf
printf '[storage]\ndriver = "vfs"\nrunroot = "%s"\ngraphroot = "%s"\n' \
  "$scratch/run" "$scratch/graph" >"$CONTAINERS_STORAGE_CONF"
printf '{"default": [{"type": "insecureAcceptAnything"}]}\n' >"$scratch/policy.json"
container=
remove_image() {
  # Of a server that did not stop.
  [ ! -s "$scratch/server" ] || kill -KILL "$(inside cat first-process)" 2>/dev/null || true
  [ -z "$container" ] || buildah rm "$container" >/dev/null 2>&1 || true
  buildah rmi --all --force >/dev/null 2>&1 || true
  stop_all
}
trap remove_image EXIT

built() {
  buildah build --signature-policy "$scratch/policy.json" "$@"
}

# A bare Debian, with the packages from where this machine has its own; kept for the next run.
base() {
  local release system=$cache/image/base.tar
  release=$(sed -n 's/^ARG BASE=.*debian:\([a-z]*\)-slim$/\1/p' "$root/deploy/Containerfile")
  [ -n "$release" ] || { echo "the Containerfile names no Debian" && return 1; }
  mkdir -p "$cache/image" "$scratch/base"
  if [ ! -e "$system" ]; then
    debootstrap --variant=minbase "$release" "$scratch/system" && rm -rf "$scratch/system/var/cache/apt/archives" &&
      tar -C "$scratch/system" -cf "$system.new" . && mv "$system.new" "$system" && rm -rf "$scratch/system" || return 1
  fi
  ln "$system" "$scratch/base/" 2>/dev/null || cp "$system" "$scratch/base/"
  printf 'FROM scratch\nADD base.tar /\n' >"$scratch/base/Containerfile"
  built -t localhost/base "$scratch/base"
}

# In the place of the compiler: the very command of the Containerfile gives the program.
builder() {
  mkdir -p "$scratch/builder"
  strip -o "$scratch/builder/weir" "$weir"
  printf '%s\n' '#!/bin/sh' 'set -eu' '[ "$*" = "build --profile dist --locked -p weir" ]' \
    'mkdir -p target/dist' 'cp /weir-built target/dist/weir' >"$scratch/builder/cargo"
  chmod +x "$scratch/builder/cargo"
  printf '%s\n' 'FROM localhost/base' 'COPY cargo /usr/local/bin/cargo' 'COPY weir /weir-built' \
    >"$scratch/builder/Containerfile"
  built -t localhost/builder "$scratch/builder"
}

image() {
  mkdir -p "$scratch/source/deploy"
  cp "$root"/deploy/Containerfile "$root"/deploy/container.sh "$scratch/source/deploy/"
  built --build-arg BUILDER=localhost/builder --build-arg BASE=localhost/base -t localhost/weir \
    -f "$scratch/source/deploy/Containerfile" "$scratch/source" && container=$(buildah from --pull-never localhost/weir)
}

inside() {
  buildah run "$container" -- "$@"
}

works() {
  [ "$(inside weir --version)" = "$("$weir" --version)" ] && [ "$(inside id -u)" = 7717 ] &&
    inside weir-container demo >"$scratch/demo" 2>&1 && grep '^completed: ' "$scratch/demo"
}

# Its own first words and arguments, with an address that only this machine reaches.
serves() {
  local try words
  buildah inspect "$container" >"$scratch/config" && "$python" - "$scratch/config" <<'PYTHON' || return 1
import json, sys
config = json.load(open(sys.argv[1]))["OCIv1"]["config"]
assert config["Entrypoint"] == ["/usr/bin/tini", "--", "/usr/local/bin/weir-container"], config
assert config["Cmd"] == ["serve", "--bind", "0.0.0.0:7717"], config
assert config["User"] == "weir" and list(config["Volumes"]) == ["/var/lib/weir"], config
PYTHON
  words=(/usr/bin/tini -s -- /usr/local/bin/weir-container serve --bind "127.0.0.1:$port")
  # The first process of the container tells its number, since ending buildah does not end it.
  buildah run "$container" -- sh -c 'echo $$ >first-process && exec "$@"' sh "${words[@]}" >"$scratch/server" 2>&1 &
  started+=($!)
  for try in $(seq 240); do
    curl --silent --insecure --fail "https://localhost:$port/readyz" >"$scratch/ready" && break
    kill -0 "${started[-1]}" 2>/dev/null || break
    sleep 0.25
  done
  cat "$scratch/server"
  [ -s "$scratch/ready" ] || { echo "no answer after $try tries" && return 1; }
  inside test -s /var/lib/weir/first-password
}

# By the signal that the image names, sent to its first process as a supervisor does.
stops() {
  local first
  first=$(inside cat first-process) && grep -q tini "/proc/$first/comm" && kill -TERM "$first" &&
    timeout 30 tail --pid="$first" -f /dev/null && ! curl --silent --insecure "https://localhost:$port/readyz"
}

checked "r9_a_base_system_is_made" base
checked "r9_a_builder_is_made" builder
checked "r9_the_image_is_built_as_its_file_says" image
if [ -n "$container" ]; then
  checked "r9_the_program_of_the_image_works_and_is_not_root" works
  port=$(free_port)
  checked "r9_the_image_serves" serves
  checked "r9_the_image_stops" stops
fi
closing image
