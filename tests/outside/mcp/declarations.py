"""Whether the shipped declarations are those of the servers: each server that can be started without a
login is started, its tools are listed, and every declaration is held against what it says (U2).

    declarations.py wanted FOLDER            what has to be installed: registry, package, version
    declarations.py compare FOLDER PACKAGES  a line for each server; fails when any differs

FOLDER holds the declarations, PACKAGES what was installed: `npm/NAME/node_modules` and `pypi/NAME`."""

import http.server
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading

try:
    import tomllib
except ImportError:  # Python before 3.11
    from pip._vendor import tomli as tomllib

# How long a server may take to start and to list its tools, in seconds.
ANSWER_WAIT_S = 60
KINDS = ("reads", "own", "sends", "commits", "destroys", "identity")
# What `crates/weir-mcp` keeps of the annotations of a tool: what the protocol names.
ANNOTATIONS = ("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
HASHED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")

# What Google's servers take for the keys of a client that was registered by hand.
GOOGLE_KEYS = {
    "installed": {
        "client_id": "nobody.apps.example",
        "client_secret": "nothing",
        "redirect_uris": ["http://localhost:3000/oauth2callback"],
    }
}

# How each server is started so that it lists its tools: its program, its arguments, its variables and
# files below its home. None of these signs anybody in.
STARTS = {
    "airtable": {"program": "airtable-mcp-server", "env": {"AIRTABLE_API_KEY": "pat.nobody"}},
    "asana": {"program": "mcp-server-asana", "env": {"ASANA_ACCESS_TOKEN": "nobody"}},
    "atlassian": {
        "program": "mcp-atlassian",
        "env": {
            "JIRA_URL": "https://nobody.atlassian.net",
            "JIRA_USERNAME": "nobody@example.org",
            "JIRA_API_TOKEN": "nobody",
            "CONFLUENCE_URL": "https://nobody.atlassian.net/wiki",
            "CONFLUENCE_USERNAME": "nobody@example.org",
            "CONFLUENCE_API_TOKEN": "nobody",
        },
    },
    "caldav": {
        "program": "caldav-mcp",
        "env": {
            "CALDAV_BASE_URL": "{dav}",
            "CALDAV_USERNAME": "nobody",
            "CALDAV_PASSWORD": "nobody",
        },
    },
    "discord": {"program": "mcp-discord", "env": {"DISCORD_TOKEN": "nobody"}},
    "email": {
        "program": "mcp-email-server",
        "args": ["stdio"],
        "env": {
            "MCP_EMAIL_SERVER_EMAIL_ADDRESS": "nobody@example.org",
            "MCP_EMAIL_SERVER_PASSWORD": "nobody",
            "MCP_EMAIL_SERVER_IMAP_HOST": "127.0.0.1",
            "MCP_EMAIL_SERVER_SMTP_HOST": "127.0.0.1",
        },
    },
    "fetch": {"program": "mcp-server-fetch"},
    "filesystem": {"program": "mcp-server-filesystem", "args": ["{home}"]},
    "gdrive": {
        "program": "mcp-server-gdrive",
        "env": {"GDRIVE_CREDENTIALS_PATH": "{home}/gdrive.json"},
        "files": {"gdrive.json": {"access_token": "nobody", "refresh_token": "nobody"}},
    },
    "git": {"program": "mcp-server-git"},
    "github": {"program": "mcp-server-github"},
    "gitlab": {"program": "mcp-gitlab", "env": {"GITLAB_PERSONAL_ACCESS_TOKEN": "nobody"}},
    "gmail": {"program": "gmail-mcp", "files": {".gmail-mcp/gcp-oauth.keys.json": GOOGLE_KEYS}},
    "google-calendar": {
        "program": "google-calendar-mcp",
        "env": {
            "GOOGLE_OAUTH_CREDENTIALS": "{home}/keys.json",
            "GOOGLE_CALENDAR_MCP_TOKEN_PATH": "{home}/tokens.json",
        },
        "files": {"keys.json": GOOGLE_KEYS},
    },
    "linear": {"program": "mcp-linear", "env": {"LINEAR_API_TOKEN": "nobody"}},
    "memory": {"program": "mcp-server-memory", "env": {"MEMORY_FILE_PATH": "{home}/memory.json"}},
    "notion": {"program": "notion-mcp-server", "env": {"NOTION_TOKEN": "nobody"}},
    "postgres": {"program": "mcp-server-postgres", "args": ["postgresql://127.0.0.1:9/nobody"]},
    "sentry": {"program": "sentry-mcp", "env": {"SENTRY_ACCESS_TOKEN": "sntryu_nobody"}},
    "slack": {"program": "mcp-server-slack", "env": {"SLACK_BOT_TOKEN": "nobody", "SLACK_TEAM_ID": "T1"}},
    "stripe": {"program": "mcp", "args": ["--tools=all", "--api-key=sk_test_nobody"]},
    "teams": {"program": "teams-mcp"},
    "todoist": {"program": "todoist-mcp", "env": {"TODOIST_API_KEY": "nobody"}},
    "trello": {"program": "mcp-server-trello", "env": {"TRELLO_API_KEY": "nobody", "TRELLO_TOKEN": "nobody"}},
}


# --- The hash of a tool, as `ServerListing` makes it --------------------------------------------


def float_text(value):
    """A float as `serde_json` writes it: the shortest digits, plain between 1e-5 and 1e16."""
    text = repr(value)
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len((whole + fraction).lstrip("0")))
    stripped = digits.rstrip("0")
    if not stripped:
        return sign + "0.0"
    if len(stripped) <= point <= 16:
        return f"{sign}{stripped}{'0' * (point - len(stripped))}.0"
    if 0 < point <= 16:
        return f"{sign}{stripped[:point]}.{stripped[point:]}"
    if -5 < point <= 0:
        return f"{sign}0.{'0' * -point}{stripped}"
    rest = f".{stripped[1:]}" if len(stripped) > 1 else ""
    return f"{sign}{stripped[0]}{rest}e{'+' if point > 0 else ''}{point - 1}"


def whole_number(text):
    value = int(text)
    fits = -(2**63) <= value < 2**64 and text != "-0"
    return value if fits else float(text)


def read_json(text):
    return json.loads(text, parse_int=whole_number)


def canonical(value):
    if isinstance(value, dict):
        fields = (f"{canonical(key)}:{canonical(value[key])}" for key in sorted(value))
        return "{" + ",".join(fields) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return float_text(value)
    return json.dumps(value, ensure_ascii=False)


def tool_hash(tool):
    """SHA-256 over what a server said of a tool, as the pin has it."""
    import hashlib

    said = {field: tool[field] for field in HASHED if tool.get(field) is not None}
    if isinstance(said.get("annotations"), dict):
        notes = said["annotations"]
        said["annotations"] = {k: notes[k] for k in ANNOTATIONS if notes.get(k) is not None}
    return hashlib.sha256(canonical(said).encode()).hexdigest()


# --- Listing the tools of a server --------------------------------------------------------------


class CalendarHost(http.server.BaseHTTPRequestHandler):
    """As much of a CalDAV server as lets a client begin: a home without calendars."""

    BODY = (
        '<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">'
        "<d:response><d:href>/u/</d:href><d:propstat><d:prop>"
        "<d:current-user-principal><d:href>/u/</d:href></d:current-user-principal>"
        "<c:calendar-home-set><d:href>/u/</d:href></c:calendar-home-set>"
        "</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response></d:multistatus>"
    ).encode()

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(207)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(self.BODY)))
        self.end_headers()
        self.wfile.write(self.BODY)

    do_GET = do_PROPFIND = do_OPTIONS = do_REPORT = answer

    def log_message(self, *_):
        pass


class Server:
    """A started server that speaks on its standard streams."""

    def __init__(self, command, env, cwd):
        self.errors = tempfile.TemporaryFile()
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=self.errors, env=env, cwd=cwd
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message):
        self.process.stdin.write((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())
        self.process.stdin.flush()

    def ask(self, number, method, params):
        self.send({"id": number, "method": method, "params": params})
        while True:
            line = self.lines.get(timeout=ANSWER_WAIT_S)
            if line is None:
                raise OSError("it ended")
            try:
                message = read_json(line)
            except ValueError:
                continue
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "error": {"code": -32601, "message": "no"}})
            elif message.get("id") == number and "result" in message:
                return message["result"]
            elif message.get("id") == number:
                raise OSError(str(message.get("error")))

    def tools(self):
        # What Weir's client says that it can do.
        client = {"name": "weir", "version": "0.1.0"}
        capabilities = {"elicitation": {}}
        hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}
        self.ask(1, "initialize", hello)
        self.send({"method": "notifications/initialized"})
        tools, cursor, number = [], None, 2
        while True:
            page = self.ask(number, "tools/list", {"cursor": cursor} if cursor else {})
            tools += page["tools"]
            cursor, number = page.get("nextCursor"), number + 1
            if not cursor:
                return tools

    def end(self):
        self.process.kill()
        self.process.wait()

    def trouble(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").strip()[-300:]


def program_of(name, start, packages):
    """The command of a server's installed program; none: it is not there."""
    script = os.path.join(packages, "npm", name, "node_modules", ".bin", start["program"])
    if os.path.exists(script):
        return [os.path.join(packages, "node"), script]
    program = os.path.join(packages, "pypi", name, "bin", start["program"])
    return [program] if os.path.exists(program) else None


def listed_tools(name, packages, dav, turn):
    """The tools of a server at one of its starts, or why there are none."""
    start = STARTS.get(name)
    if start is None:
        return None, "nobody knows how to start it without a login"
    command = program_of(name, start, packages)
    if command is None:
        return None, "its package is not installed"
    with tempfile.TemporaryDirectory() as home:
        fill = lambda text: text.replace("{home}", home).replace("{dav}", dav)
        for path, content in start.get("files", {}).items():
            path = os.path.join(home, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(content, file)
        # Nothing of the person who runs this.
        env = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "BROWSER": "true"}
        # Python orders sets by chance; so what a server makes of one differs for certain, or never.
        env["PYTHONHASHSEED"] = str(turn)
        env.update({key: fill(value) for key, value in start.get("env", {}).items()})
        server = Server(command + [fill(word) for word in start.get("args", [])], env, home)
        try:
            return server.tools(), None
        except (OSError, queue.Empty) as error:
            return None, f"{error or 'it said nothing'}: {server.trouble()}"
        finally:
            server.end()


# --- Holding a declaration against a tool -------------------------------------------------------


def target_of(schema, root):
    for _ in range(20):
        if not isinstance(schema, dict) or "$ref" not in schema:
            break
        found = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            found = found.get(part.replace("~1", "/"), {}) if isinstance(found, dict) else {}
        schema = found
    return schema if isinstance(schema, dict) else {}


def alternatives(schema, root):
    schema = target_of(schema, root)
    found = [schema]
    for key in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(key, []):
            found += alternatives(part, root)
    return found


def has_argument(tool, path):
    """Whether the schema of a tool has an argument: `to`, `message.to`, `events[].attendees`."""
    root = tool.get("inputSchema") or {}
    at = [root]
    for part in path.split("."):
        name = part.rstrip("[]")
        at = [
            properties[name]
            for schema in at
            for one in alternatives(schema, root)
            if name in (properties := one.get("properties") or {})
        ]
        for _ in range(part.count("[]")):
            at = [
                one["items"]
                for schema in at
                for one in alternatives(schema, root)
                if isinstance(one.get("items"), dict)
            ]
        if not at:
            return False
    return True


def arguments_of(declared):
    """Every argument that a declaration names."""
    named = list(declared.get("control", [])) + list(declared.get("content", []))
    for kind in ("sends", "commits"):
        for paths in (declared.get(kind) or {}).values():
            named += paths
    return named


def changing(tools, again):
    """Tools that a server describes otherwise at each of its starts: no pin and no declaration is of one."""
    after = {tool["name"]: tool_hash(tool) for tool in again}
    return {tool["name"] for tool in tools if after.get(tool["name"]) != tool_hash(tool)}


def differences(declared, tools, unsteady):
    """What of the declarations does not hold, a line each."""
    by_name = {tool["name"]: tool for tool in tools}
    declared_tools = declared.get("tools", {})
    for name in sorted(by_name.keys() - declared_tools.keys() - unsteady):
        yield f"{name} is declared by nobody"
    for name in sorted(unsteady & declared_tools.keys()):
        yield f"{name} is another one at each start, and declared"
    for name, said in sorted(declared_tools.items()):
        tool = by_name.get(name)
        if tool is None:
            yield f"{name} is declared and not offered"
            continue
        if sum(kind in said for kind in KINDS) != 1:
            yield f"{name} is not exactly one of {', '.join(KINDS)}"
        if (found := tool_hash(tool)) != said["schema"]:
            yield f"{name} is another one: {found} instead of {said['schema']}"
        for path in arguments_of(said):
            if not has_argument(tool, path):
                yield f"{name} has no argument {path}"


# --- The commands -------------------------------------------------------------------------------


def shipped(folder):
    for file in sorted(os.listdir(folder)):
        if file.endswith(".toml"):
            with open(os.path.join(folder, file), "rb") as opened:
                yield file[: -len(".toml")], tomllib.load(opened)


def wanted(folder):
    """A line for each server: its name, its registry, its package, the version that was looked at."""
    for name, declared in shipped(folder):
        for package in declared.get("packages", [])[:1]:
            registry = declared.get("registry", "npm")
            print(name, registry, package, declared["version"])


def compare(folder, packages):
    host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), CalendarHost)
    threading.Thread(target=host.serve_forever, daemon=True).start()
    dav = f"http://127.0.0.1:{host.server_address[1]}"
    failed = skipped = 0
    for name, declared in shipped(folder):
        tools, why = listed_tools(name, packages, dav, 1)
        again, why_not = listed_tools(name, packages, dav, 2) if tools else (None, why)
        if tools is None or again is None:
            skipped += 1
            print(f"skipped {name}: {why or why_not}")
            continue
        unsteady = changing(tools, again)
        found = list(differences(declared, tools, unsteady))
        failed += bool(found)
        print(f"{'FAIL' if found else 'ok  '}  {name} {declared['version']}: {len(tools)} tools")
        for tool in sorted(unsteady):
            print(f"        {tool} is described otherwise at each start: it stays unknown")
        for line in found:
            print(f"        {line}")
    host.shutdown()
    print(f"{skipped} skipped")
    return failed


if __name__ == "__main__":
    if sys.argv[1] == "wanted":
        wanted(sys.argv[2])
    elif sys.argv[1] == "hash":
        # The hash of a tool in a file: the same case stands in the tests of `weir-mcp`.
        with open(sys.argv[2], encoding="utf-8") as file:
            print(tool_hash(read_json(file.read())["tool"]))
    elif sys.argv[1] == "compare":
        sys.exit(1 if compare(sys.argv[2], sys.argv[3]) else 0)
