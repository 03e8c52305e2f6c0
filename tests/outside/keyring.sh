#!/usr/bin/env bash
# Keys in the real keyring: secret-tool and gnome-keyring-daemon on a session bus of their own.
set -euo pipefail
# shellcheck source=tests/outside/lib.sh
. "$(dirname "$0")/lib.sh"
if [ -z "${WEIR_KEYRING_INSIDE:-}" ]; then
  needs "$weir" "run cargo build"
  installed keyring "libsecret-tools, gnome-keyring, dbus" \
    secret-tool gnome-keyring-daemon dbus-run-session dbus-send
  home=$scratch/home
  mkdir -p "$home/run" "$home/work"
  chmod 700 "$home/run"
  # Not `exec`: the folder is removed when this ends.
  env -i PATH="$PATH" HOME="$home" XDG_RUNTIME_DIR="$home/run" WEIR_BIN="$weir" WEIR_KEYRING_INSIDE=1 \
    timeout 180 dbus-run-session -- bash "$0"
  exit
fi
cd "$HOME/work"
key=sk-keyring-0123456789
config=$HOME/.config/weir
is_unlocked() {
  dbus-send --session --print-reply=literal --dest=org.freedesktop.secrets /org/freedesktop/secrets/aliases/default \
    org.freedesktop.DBus.Properties.Get string:org.freedesktop.Secret.Collection string:Locked | grep -q false
}
unlock() {
  local tries
  printf 'pw' | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
  for tries in {1..50}; do
    if is_unlocked; then return 0; fi
    sleep 0.1
  done
  printf 'the keyring is still locked after %d looks\n' "$tries"
  return 1
}
# The daemon takes a password without a prompt only while it starts: another one takes its place.
unlock_again() {
  local daemon
  daemon=$(dbus-send --session --print-reply=literal --dest=org.freedesktop.DBus / \
    org.freedesktop.DBus.GetConnectionUnixProcessID string:org.freedesktop.secrets | awk '{ print $2 }')
  kill "$daemon" && tail --pid="$daemon" -f /dev/null && unlock
}
lock() {
  dbus-send --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets \
    org.freedesktop.Secret.Service.Lock array:objpath:/org/freedesktop/secrets/collection/login
}
# says PATTERN COMMAND...: what the command prints, whichever way it ends.
says() {
  local pattern=$1
  shift
  "$@" >"$scratch/said" 2>&1 || true
  cat "$scratch/said"
  grep -q -- "$pattern" "$scratch/said"
}
set_key() { printf '%s\n' "$1" | "$weir" auth set "$2"; }
kept() { secret-tool lookup service weir account "$1" folder "${2:-$config}"; }
store_is() { mkdir -p "$config" && printf '[keys]\nstore = "%s"\n' "$1" >"$config/config.toml"; }
goes_to_keyring() {
  says 'the system keyring\.$' set_key $key anthropic && kept anthropic | grep -x $key &&
    ! grep -rq $key "$HOME/.config" "$HOME/.local/state" "$HOME/work"
}
listed() {
  says 'anthropic.*key from the system keyring' "$weir" auth list && ! grep -q $key "$scratch/said"
}
doctor_says() { says 'new keys are kept in: the system keyring' "$weir" doctor --offline; }
older_item_is_not_used() {
  printf 'sk-older-0123456789' |
    secret-tool store --label=older service weir account anthropic folder "$config" id older &&
    "$weir" backup --keys "$HOME/older.tar.gz" && tar -xzOf "$HOME/older.tar.gz" config/keys.toml | grep "$key" &&
    secret-tool clear service weir account anthropic folder "$config" id older && kept anthropic | grep -x $key
}
backup_has_the_value() {
  "$weir" backup --keys "$HOME/b.tar.gz" && tar -xzOf "$HOME/b.tar.gz" config/keys.toml | grep "$key" &&
    tar -tzf "$HOME/b.tar.gz" >"$scratch/names" && ! grep -q keyring.toml "$scratch/names" &&
    "$weir" backup "$HOME/c.tar.gz" && tar -tzf "$HOME/c.tar.gz" >"$scratch/names" &&
    ! grep -q 'config/key' "$scratch/names"
}
in_another_folder() { XDG_CONFIG_HOME=$1 "${@:2}"; }
other_folder_has_its_own() {
  says 'the system keyring\.$' in_another_folder "$HOME/other" set_key sk-other-0123456789 anthropic &&
    in_another_folder "$HOME/other" "$weir" auth remove anthropic && kept anthropic | grep -x $key
}
letters_outside_ascii() {
  says 'the system keyring\.$' in_another_folder "$HOME/schlüssel" set_key sk-letters-0123456789 anthropic &&
    says 'anthropic.*key from the system keyring' in_another_folder "$HOME/schlüssel" "$weir" auth list &&
    in_another_folder "$HOME/schlüssel" "$weir" auth remove anthropic
}
file_wins_by_setting() {
  store_is file && says keys.toml set_key sk-file-0123456789 openai && rm "$config/config.toml"
}
locked_does_not_wait() {
  lock && says 'it is locked' timeout 10 "$weir" auth list && grep -q 'openai.*keys.toml' "$scratch/said" &&
    grep -q 'anthropic in the system keyring' "$scratch/said"
}
locked_goes_to_file() { says 'keys.toml.*it is locked' set_key sk-new-0123456789 gemini; }
locked_is_refused_where_wanted() {
  store_is keyring && ! set_key $key openrouter && ! grep -q openrouter "$config/keys.toml" && rm "$config/config.toml"
}
locked_is_not_in_a_backup() { says 'not in it.*anthropic' "$weir" backup --keys "$HOME/d.tar.gz"; }
locked_and_removed_counts_no_more() {
  ! "$weir" auth remove anthropic && unlock_again && kept anthropic | grep -x $key &&
    says 'anthropic  *no key' "$weir" auth list && grep -q 'older anthropic' "$scratch/said"
}
removed() {
  "$weir" auth remove anthropic && [ -z "$(kept anthropic)" ] &&
    "$weir" auth remove openai && ! grep -q openai "$config/keys.toml"
}
gone_elsewhere_is_said() {
  set_key $key anthropic && secret-tool clear service weir account anthropic folder "$config" &&
    says 'no key for anthropic any more' "$weir" auth list && "$weir" auth remove anthropic
}
no_bus_is_said() {
  says 'keys.toml.*there is no session bus' set_key_without_bus
}
set_key_without_bus() {
  printf '%s\n' $key | env -u DBUS_SESSION_BUS_ADDRESS -u XDG_RUNTIME_DIR "$weir" auth set openai
}
unlock
checked 'a key goes to the keyring, and to no file' goes_to_keyring
checked 'the list says where it is' listed
checked 'doctor says which store is used' doctor_says
checked 'an older key of the same name is not used' older_item_is_not_used
checked 'a backup with keys has its value, any other has nothing of it' backup_has_the_value
checked 'another configuration folder has keys of its own' other_folder_has_its_own
checked 'a folder with letters outside ASCII' letters_outside_ascii
checked 'keys.store = "file" keeps it in the file' file_wins_by_setting
checked 'a locked keyring is said, and nobody waits' locked_does_not_wait
checked 'a locked keyring: auto takes the file, and says why' locked_goes_to_file
checked 'a locked keyring: keyring refuses' locked_is_refused_where_wanted
checked 'a locked keyring: a backup says what it lacks' locked_is_not_in_a_backup
checked 'a key that was removed while it was locked counts no more' locked_and_removed_counts_no_more
checked 'a removed key is in neither' removed
checked 'a key that somebody else removed is said' gone_elsewhere_is_said
checked 'without a bus the file takes it, and says why' no_bus_is_said
closing keyring
