"""Stands between an editor and its agent, and keeps every line of both.

    tee.py RECORD.jsonl COMMAND...

The lines pass as they are. What the agent prints on standard error is not kept.
"""

import json
import subprocess
import sys
import threading

record = open(sys.argv[1], "a", encoding="utf-8")
agent = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
lock = threading.Lock()


def carry(source, target, side):
    for line in source:
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
