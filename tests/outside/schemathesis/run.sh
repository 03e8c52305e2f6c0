#!/usr/bin/env bash
# The API against its own description: schemathesis sends what the description allows and what it
# does not, and every answer must be one that it names; none may be a 500 (S14).
#
#   tests/outside/schemathesis/run.sh [SECONDS]
#
# WEIR_PYTHON names an interpreter that has requirements.txt; else one is made in the cache.

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

seconds=${1:-120}
needs "$weir" "cargo build -p weir"
if [ -z "${WEIR_PYTHON:-}" ]; then
  python=$cache/schemathesis/bin/python
  if [ ! -x "$cache/schemathesis/bin/schemathesis" ]; then
    python3 -m venv "$cache/schemathesis"
    "$python" -m pip -q install -r "$root/tests/outside/schemathesis/requirements.txt"
  fi
fi
tool=$(dirname "$python")/schemathesis

weir_home "$scratch"
mkdir -p "$XDG_CONFIG_HOME/weir" "$scratch/work"
printf 'name: api\n\nloop: 1000000\nsays: Done.\nend\n' >"$scratch/api.script"
cat >"$XDG_CONFIG_HOME/weir/config.toml" <<TOML
model = "script:$scratch/api.script"
[server]
requests_per_minute = 1000000
TOML
password='a horse of another colour'
printf '%s\n' "$password" >"$scratch/password"
chmod 600 "$scratch/password"
port=$(free_port)
base=http://127.0.0.1:$port
"$weir" serve -C "$scratch/work" --bind "127.0.0.1:$port" --first-admin admin \
  --password-file "$scratch/password" 2>"$scratch/serve.log" &
started+=($!)
server=$!
wait_for "$base/healthz"

token=$("$python" - "$base" "$password" <<'PYTHON'
import http.cookiejar, json, sys, urllib.request
base, password = sys.argv[1:]
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
def call(path, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", "origin": base, **headers}
    return json.load(opener.open(urllib.request.Request(base + path, data, headers)))
call("/api/v1/login", {"name": "admin", "password": password})
csrf = call("/api/v1/me")["csrf"]
print(call("/api/v1/account/tokens", {"name": "schemathesis", "scope": "all"}, **{"x-csrf-token": csrf})["token"])
PYTHON
)

# What ends the run itself is left out: signing out, the kill switch, the account's own tokens; and
# what never ends or speaks another protocol: events as they come, the socket.
left_out='^/api/v1/(logout|pause|release|ws|account.*|users.*|sessions/\{id\}/events)$'
admitted() {
  "$python" - "$base" "$token" <<'PYTHON'
import sys, urllib.request
base, token = sys.argv[1:]
request = urllib.request.Request(base + "/api/v1/sessions", headers={"authorization": f"Bearer {token}"})
assert urllib.request.urlopen(request).status == 200
PYTHON
}
tested() {
  # It keeps notes of its own in the folder it runs in.
  (cd "$scratch" && timeout $((seconds + 300)) "$tool" run "$base/api/v1/openapi.json" --url "$base" \
    --header "Authorization: Bearer $token" \
    --exclude-path-regex "$left_out" \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
    --phases examples,coverage,fuzzing --max-examples 20 --max-time "$seconds" \
    --request-timeout 60 --generation-database none --no-color >"$scratch/report" 2>&1)
  local ended=$?
  cat "$scratch/report"
  return $ended
}
# How much was tested.
counted() { grep -E 'generated|Selected:|Tested:' "$scratch/report"; }
alive() { kill -0 "$server" && wait_for "$base/healthz"; }

checked "the token is let in" admitted
checked "the answers are those of the description" tested
counted || true
checked "the server lives and answers" alive
closing schemathesis
