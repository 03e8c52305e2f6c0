"""The same session in a terminal and in a browser: `weir serve`, and `weir --attach` beside somebody
who speaks to the server's API as pages do."""

import json
import os
import re
import struct
import subprocess
import urllib.request
import zlib
from http.cookiejar import CookieJar

import words
from house import House, PATIENCE, WEIR, field, holds, kind, same, until
from screen import Terminal

NAME, PASSWORD = "ann", "correct horse battery staple"


class Server:
    """`weir serve` in a house."""

    def __init__(self, house):
        self.house = house
        path = os.path.join(house.folder, "password")
        with open(path, "w") as out:
            out.write(PASSWORD)
        self.said = os.path.join(house.folder, "served")
        with open(self.said, "w") as out:
            self.child = subprocess.Popen(
                [WEIR, "serve", "-C", house.work, "--bind", "127.0.0.1:0", "--first-admin", NAME,
                 "--password-file", path], env=house.env, stdout=out, stderr=out)
        self.url = until("the server listens", self.listening)
        jar = urllib.request.HTTPCookieProcessor(CookieJar())
        self.opener = urllib.request.build_opener(jar)
        self.csrf = self.ask("POST", "login", {"name": NAME, "password": PASSWORD})["csrf"]

    def listening(self):
        with open(self.said) as file:
            found = re.search(r"listening on (http://\S+?)/?\s", file.read())
        return found and found.group(1)

    def ask(self, method, path, body=None):
        headers = {"content-type": "application/json", "origin": self.url}
        if getattr(self, "csrf", None):
            headers["x-csrf-token"] = self.csrf
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data, headers, method=method)
        with self.opener.open(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")

    def bytes(self, path):
        """What the API gives that is no JSON."""
        with self.opener.open(f"{self.url}/api/v1/{path}", timeout=PATIENCE) as answer:
            return answer.read()

    def facts(self, session):
        lines = self.bytes(f"sessions/{session}/export").decode().splitlines()
        return [json.loads(line) for line in lines if line.strip()]

    def sessions(self):
        found = self.ask("GET", "sessions")
        return found if isinstance(found, list) else next(
            value for value in found.values() if isinstance(value, list))

    def close(self):
        self.child.terminate()
        try:
            self.child.wait(15)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


def sign_in(term, server):
    """The face, by name and password."""
    term.start("--attach", server.url)
    term.wait("Name")
    term.type(NAME)
    term.keys("Enter")
    term.wait("Password")
    term.type(PASSWORD)
    term.keys("Enter")
    term.wait(words.READY)


def f1_one_session_in_a_terminal_and_in_the_browser():
    script = ('says: Hello to both.\n\ncalls: run_shell {"command": "echo x > made"}\n\n'
              "says: All done.\n\nsays: Heard from afar.\n")
    house = House("attached", script)
    server = Server(house)
    try:
        with Terminal(house) as term:
            sign_in(term, server)
            term.say("hello you two")
            term.wait("Hello to both")
            found = until("the server has the session", server.sessions)
            name = found[0]["id"]
            # What is asked in the terminal is answered in the browser.
            term.say("make it")
            term.wait(words.ASKED)
            waiting = until("it waits in the browser too",
                            lambda: server.ask("GET", "approvals")["items"])
            asked = waiting[0]["id"]
            server.ask("POST", f"approvals/{asked}", {"decision": "once"})
            term.wait("All done")
            term.gone(words.ASKED)
            # What is said in the browser is heard in the terminal.
            said = {"client_id": "from-afar-1", "content": [{"type": "text", "text": "from afar"}]}
            server.ask("POST", f"sessions/{name}/input", said)
            term.wait("from afar")
            term.wait("Heard from afar")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
            term.restored()
            holds(server.child.poll() is None, "the server goes on")
    finally:
        server.close()
        house.end()


def picture():
    """A picture of one point."""
    def chunk(name, data):
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0\xff\x80\x00")
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows)
            + chunk(b"IEND", b""))


def f1_attach_a_pasted_picture_is_uploaded_and_a_mention_sends_no_file_of_this_machine():
    house = House("attached-files", "says: I see it.\n\nsays: This one too.\n\nsays: Words.\n")
    server = Server(house)
    try:
        # Beside the server's folder: of this machine, and none that the server would find.
        home = house.env["HOME"]
        shot, other = os.path.join(home, "my shot.png"), os.path.join(home, "other.png")
        for path in (shot, other):
            with open(path, "wb") as out:
                out.write(picture())
        with open(os.path.join(home, "notes.txt"), "w") as out:
            out.write("kept to myself\n")
        with Terminal(house) as term:
            sign_in(term, server)
            # As terminals paste what is dropped on them, and as a path is mentioned.
            for at, (pasted, answer) in enumerate(
                    ((f"'{shot}'", "I see it"), (f"@{other}", "This one too"))):
                file = (shot, other)[at]
                base = os.path.basename(file)
                term.paste(pasted)
                term.wait(rf"\[image: {re.escape(base)}\]")
                term.type(" what is this?")
                term.wait(r"what is this\?")
                term.keys("Enter")
                term.wait(answer)
                name = server.sessions()[0]["id"]
                said = [fact for fact in server.facts(name) if kind(fact) == "input.accepted"]
                same(len(said), at + 1, "inputs")
                media = [block for block in field(said[at], "content") if block.get("type") != "text"]
                same(len(media), 1, f"what went along: {json.dumps(said[at])[:600]}")
                holds(base in json.dumps(media), f"it keeps its name: {media}")
                blob = re.search(r'"blob": ?"([0-9a-f]+)"', json.dumps(media)).group(1)
                same(server.bytes(f"sessions/{name}/blobs/{blob}"), picture(), "its bytes")
                term.gone(words.BUSY)
            # Words may come from anywhere: they alone send nothing of this machine.
            term.say("and @~/notes.txt ?")
            term.wait("did not go along")
            term.wait("Words")
            holds("kept to myself" not in json.dumps(server.facts(name)), "it stayed here")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
    finally:
        server.close()
        house.end()


def f1_attach_going_back_shows_first_what_would_change():
    script = ('calls: append_to_file {"path": "a.txt", "content": "one\\n"}\n\nsays: First done.\n\n'
              'calls: append_to_file {"path": "a.txt", "content": "two\\n"}\n\nsays: Second done.\n')
    house = House("attached-back", script, permission="auto-edit")
    server = Server(house)
    try:
        house.write("a.txt", "zero\n")
        with Terminal(house) as term:
            sign_in(term, server)
            term.say("write once")
            term.wait("First done")
            term.gone(words.BUSY)
            term.say("write twice")
            term.wait("Second done")
            term.gone(words.BUSY)
            same(house.read("a.txt"), "zero\none\ntwo\n", "the file")
            term.keys("Escape", "Escape")
            term.wait("Go back to before which message")
            term.keys("Enter")
            term.wait(r"-\s*two")
            same(house.read("a.txt"), "zero\none\ntwo\n", "a look changes nothing")
            term.wait(words.BACK_BOTH)
            term.keys("b")
            until("the file is as it was", lambda: house.read("a.txt") == "zero\none\n")
            # A copy holds the conversation up to there, and the words are in the box again.
            term.wait(r"> write twice\n.*auto-edit ·")
            copies = until("there is a copy",
                           lambda: [one for one in server.sessions() if one.get("parent")])
            same(len(copies), 1, "copies")
            term.keys(words.WIPE)
            term.gone("> write twice")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
    finally:
        server.close()
        house.end()


def l12_attach_what_waits_comes_back_when_the_browser_stops_the_run():
    long = " ".join(f"word{n}" for n in range(200))
    house = House("attached-stop", f"pace: 200ms\nsays: {long}\n")
    server = Server(house)
    try:
        with Terminal(house) as term:
            sign_in(term, server)
            term.say("begin")
            term.wait(r"\bword3\b")
            term.say("and then the docs")
            name = until("the server has the session", server.sessions)[0]["id"]
            until("it waits", lambda: len(
                [fact for fact in server.facts(name) if kind(fact) == "input.accepted"]) == 2)
            server.ask("POST", f"sessions/{name}/cancel")
            term.wait(words.DONE)
            term.wait("Cut off here: the run was ended")
            term.wait("> and then the docs")
            holds(term.has(r"\bword3\b"), "the words stay")
            replied = [fact for fact in server.facts(name) if kind(fact) == "model.replied"]
            same(field(replied[0], "stop"), "interrupted", "the journal")
            term.keys(words.WIPE)
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
    finally:
        server.close()
        house.end()
