"""An MCP server for the slack of AgentDojo's suite, on standard input and output.

Like most servers of its kind it is a small program before a service on the network: it asks the
service for its tools and passes calls on. SLACK_SERVICE is the service's address, and the name of the
folder that it runs in says in whose slack it works. Standard library only, and no package of MCP: what
stands here is what the protocol says.
"""

import base64
import http.client
import json
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"]
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# So long the service may take for one request, in seconds.
PATIENCE = 30


class Refused(Exception):
    """A request that cannot be answered: its code in the protocol, and why."""

    def __init__(self, code, why):
        super().__init__(why)
        self.code = code


def ask(path, body=None):
    """Asks the service: by the proxy that the sandbox names, also for an address of this machine."""
    address = os.environ["SLACK_SERVICE"] + path
    method, sent = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
    headers = {"content-type": "application/json"}
    way = urlsplit(os.environ.get("http_proxy") or address)
    if way.username:
        word = base64.b64encode(f"{way.username}:{way.password}".encode()).decode()
        headers["proxy-authorization"] = f"Basic {word}"
    connection = http.client.HTTPConnection(way.hostname, way.port, timeout=PATIENCE)
    try:
        connection.request(method, address, sent, headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        if answer.status != 200:
            raise Refused(INTERNAL_ERROR, f"the service says {answer.status}: {text}")
        return json.loads(text)
    except (OSError, http.client.HTTPException) as error:
        raise Refused(INTERNAL_ERROR, f"the service cannot be reached: {error}") from error
    finally:
        connection.close()


def initialize(params):
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "slack", "version": "1.0.0"},
    }


def list_tools(params):
    return {"tools": ask("/tools")}


def call_tool(params):
    name, args = params.get("name"), params.get("arguments") or {}
    if not isinstance(name, str) or not isinstance(args, dict):
        raise Refused(INVALID_PARAMS, "a call has a name and arguments")
    answer = ask("/call", {"play": Path.cwd().name, "name": name, "args": args})
    result = {"content": [{"type": "text", "text": answer["text"]}], "isError": not answer["ok"]}
    if "structured" in answer:
        result["structuredContent"] = answer["structured"]
    return result


METHODS = {
    "initialize": initialize,
    "ping": lambda params: {},
    "tools/list": list_tools,
    "tools/call": call_tool,
}


def respond(message):
    """The answer to a message; none for what wants no answer."""
    if "id" not in message or "method" not in message:
        return None
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    method = METHODS.get(message["method"])
    if method is None:
        return {**answer, "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
    try:
        return {**answer, "result": method(message.get("params") or {})}
    except Refused as why:
        return {**answer, "error": {"code": why.code, "message": str(why)}}


def main():
    for line in sys.stdin:
        answer = respond(json.loads(line))
        if answer is not None:
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
