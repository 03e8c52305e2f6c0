"""Holds a record of `tee.py` against the published JSON Schema of the protocol: every line of both sides.

    judge.py SCHEMA.json RECORD.jsonl [METHOD...]

Each message is held against the definition of its own method, which is narrower than the schema as a whole.
The methods that are named must be in the record.
"""

import json
import sys

from jsonschema import Draft202012Validator

schema = json.load(open(sys.argv[1], encoding="utf-8"))
definitions = schema["$defs"]
lines = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]


def definition_of(method, endings):
    for name, definition in definitions.items():
        if definition.get("x-method") == method and name.endswith(endings):
            return name
    return None


def faults_of(name, value):
    whole = {"$schema": schema["$schema"], "$ref": f"#/$defs/{name}", "$defs": definitions}
    return [f"{name}: {error.json_path}: {error.message}" for error in Draft202012Validator(whole).iter_errors(value)]


faults, asked, seen, updates = [], {}, set(), set()
for number, entry in enumerate(lines, 1):
    side, line = entry["side"], entry["line"]
    try:
        message = json.loads(line)
    except ValueError as error:
        faults.append(f"line {number} of the {side}: {error}")
        continue
    if message.get("jsonrpc") != "2.0":
        faults.append(f"line {number} of the {side}: it is no JSON-RPC 2.0")
    found = []
    if "method" in message:
        method = message["method"]
        seen.add(method)
        if "id" in message:
            asked[(side, json.dumps(message["id"]))] = method
        if method.startswith("$/"):
            name = "CancelRequestNotification"
        else:
            name = definition_of(method, ("Request",) if "id" in message else ("Notification",))
        if name is None:
            faults.append(f"line {number} of the {side}: the protocol has no method {method}")
        else:
            found = faults_of(name, message.get("params"))
        if method == "session/update":
            updates.add(message["params"]["update"]["sessionUpdate"])
    elif "error" in message:
        found = faults_of("Error", message["error"])
    else:
        other = "client" if side == "agent" else "agent"
        method = asked.get((other, json.dumps(message.get("id"))))
        if method is None:
            faults.append(f"line {number} of the {side}: it answers nothing")
        else:
            found = faults_of(definition_of(method, ("Response",)), message["result"])
    faults.extend(f"line {number} of the {side}: {fault}: {line[:300]}" for fault in found)

for method in sys.argv[3:]:
    if method not in seen and method not in updates:
        faults.append(f"the record has no {method}")
for fault in faults[:20]:
    print(fault)
print(f"{len(lines)} lines, {len(faults)} faults; {', '.join(sorted(seen))}; {', '.join(sorted(updates))}")
sys.exit(1 if faults or not lines else 0)
