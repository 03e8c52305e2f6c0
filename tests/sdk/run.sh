#!/bin/sh
# Serves all.script and lets the vendors' SDKs judge it.
#   run.sh PYTHON SERVER...    SERVER: `target/debug/weir script serve` or the example script_serve
# SERVER is called with the script's file and 127.0.0.1:PORT (weir: --bind) and is ended here.
# RECORD=FILE passes a file to record the exchanges to (example only).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$1
shift
# Below those that the system gives out by itself, so that nobody takes it before the server.
port=$("$python" -c 'import random, socket
while True:
    port = random.randrange(10000, 30000)
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
            break
        except OSError:
            pass
print(port)')
case "$*" in
*"script serve"*) "$@" "$here/all.script" --bind "127.0.0.1:$port" >/dev/null & ;;
*) "$@" "$here/all.script" "127.0.0.1:$port" ${RECORD:+"$RECORD"} >/dev/null & ;;
esac
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
"$python" - "$port" <<'PYTHON'
import sys, time, urllib.request
for attempt in range(2400):
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/healthz", timeout=5).read()
        break
    except OSError:
        time.sleep(0.05)
else:
    sys.exit("the script server did not come up")
PYTHON
"$python" "$here/sdk_parses_script_server.py" "http://127.0.0.1:$port"
