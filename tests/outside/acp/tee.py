"""Stands between an editor and its agent, and keeps every line of both.

    tee.py [--cwd FOLDER] RECORD.jsonl COMMAND...

The lines pass as they are, and are kept as they pass. What the agent prints on standard error is not kept. The
numbers of the agent's process and of this one stand in `RECORD.jsonl.agent`, for who wants to kill the agent.
`--cwd` is for editors that name the folder of a new session as `.`, where the protocol wants a whole path.
"""

import json
import os
import subprocess
import sys
import threading

arguments = sys.argv[1:]
folder = None
if arguments[0] == "--cwd":
    folder, arguments = arguments[1], arguments[2:]
record = open(arguments[0], "a", encoding="utf-8")
agent = subprocess.Popen(arguments[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
with open(arguments[0] + ".agent", "w", encoding="utf-8") as process:
    process.write(f"{agent.pid}\n{os.getpid()}\n")
lock = threading.Lock()


def with_folder(line):
    message = json.loads(line)
    if message.get("method") == "session/new" and message["params"].get("cwd") == ".":
        message["params"]["cwd"] = folder
        return (json.dumps(message) + "\n").encode()
    return line


def carry(source, target, side):
    for line in source:
        if folder and side == "client":
            line = with_folder(line)
        with lock:
            record.write(json.dumps({"side": side, "line": line.decode("utf-8", "replace")}) + "\n")
            record.flush()
        try:
            target.write(line)
            target.flush()
        except (BrokenPipeError, ValueError):
            break
    try:
        target.close()
    except (BrokenPipeError, ValueError):
        pass


threading.Thread(target=carry, args=(sys.stdin.buffer, agent.stdin, "client"), daemon=True).start()
carry(agent.stdout, sys.stdout.buffer, "agent")
sys.exit(agent.wait())
