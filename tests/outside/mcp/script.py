"""What the conformance suite's client needs to be told, made from what the server is: the flags of
`weir mcp-servers add`, and a script for the model that calls every listed tool."""

import json
import os
import subprocess
import sys
import time

CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
# The address that the suite expects of a client which describes itself by a document.
DOCUMENT = "https://conformance-test.local/client-metadata.json"
# What a scenario's server offers beside tools and looks at how it is asked for.
BESIDE = {
    "http-standard-headers": [
        {"resource": "file:///path/to/file%20name.txt"},
        {"prompt": "test_prompt"},
    ]
}


def wanted(config):
    """Flags, a line each; a secret is declared in the settings first."""
    print("--client-metadata-url")
    print(DOCUMENT)
    if "client_id" in CONTEXT:
        print("--client-id")
        print(CONTEXT["client_id"])
    if "client_secret" in CONTEXT:
        print("--client-secret")
        print("client")
        with open(config, "w", encoding="utf-8") as file:
            file.write(
                '[secrets.client]\nenv = "CONFORMANCE_CLIENT_SECRET"\nhosts = ["localhost"]\n'
            )


def value(schema):
    """A value that fits a schema."""
    if not isinstance(schema, dict):
        return "text"
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    return {
        "string": "text",
        "integer": 5,
        "number": 5,
        "boolean": True,
        "array": [],
        "object": {},
        "null": None,
    }.get(kind, "text")


def arguments(tool, tools):
    schema = tool.get("input_schema") or {}
    made = {}
    for name, field in (schema.get("properties") or {}).items():
        others = [t for t in tools if t["name"] != tool["name"]]
        if name == "schema" and others:
            # A tool that gives back the schema of another one.
            made[name] = others[0]["input_schema"]
        else:
            made[name] = value(field)
    return made


def leaves(value):
    """Every text and number in a value."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def words(script):
    """What the calls of a script say, a line each: the person's own words then."""
    with open(script, encoding="utf-8") as file:
        calls = [line.split(" ", 2)[2] for line in file if line.startswith("calls: ")]
    print("\n".join(leaf for call in calls for leaf in leaves(json.loads(call))))


def model(shown):
    with open(shown, encoding="utf-8") as file:
        tools = json.load(file)["tools"]
    called = {tool["name"]: tool["called"] for tool in tools}
    calls = []
    for call in CONTEXT.get("toolCalls", []):
        if call["name"] in called:
            # A value that is nothing is left out: the schema does not allow it.
            given = call.get("arguments", {})
            given = {key: value for key, value in given.items() if value is not None}
            calls.append((called[call["name"]], given))
    said = {name for name, _ in calls}
    rest = [tool for tool in tools if tool["called"] not in said]
    calls += [(tool["called"], arguments(tool, tools)) for tool in rest]
    # What it offers beside its tools.
    calls.append(("find_tool", {"query": "read_mcp_tool"}))
    calls.append(("read_mcp_tool", {"server": "test"}))
    for read in BESIDE.get(os.environ.get("MCP_CONFORMANCE_SCENARIO"), []):
        calls.append(("read_mcp_tool", {"server": "test", **read}))
    print("window: 1000000\n")
    for name, given in calls:
        print(f"calls: {name} {json.dumps(given, ensure_ascii=False)}\n")
    print("says: Everything was used.")


def answer(weir, run):
    """Answers what the server asks, as a person at another terminal does, until the run has ended: the
    first thing that is offered, which is what the server proposes where it proposes something."""
    while os.path.exists(f"/proc/{run}"):
        listed = subprocess.run([weir, "approvals", "list", "--json"], capture_output=True, check=False)
        waiting = json.loads(listed.stdout or "{}")
        said = [[asked["question"], "--text", asked["options"][0]] for asked in waiting.get("questions", [])]
        said += [[asked["approval"], "once"] for asked in waiting.get("approvals", [])]
        for words in said:
            subprocess.run([weir, "approvals", "answer", *words], stdout=subprocess.DEVNULL, check=False)
        time.sleep(0.05)


if __name__ == "__main__":
    command = sys.argv[1]
    if command == "wanted":
        wanted(sys.argv[2])
    elif command == "secret":
        print(CONTEXT.get("client_secret", ""))
    elif command == "words":
        words(sys.argv[2])
    elif command == "model":
        model(sys.argv[2])
    elif command == "answer":
        answer(sys.argv[2], sys.argv[3])
