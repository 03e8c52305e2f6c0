"""The first minute: no key, no model. A vendor and its key, a server on this machine, the demo, and
leaving. Vendors are played by a server of the test."""

import json
import os
import stat
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import words
from house import PATIENCE, WEIR, House, holds, same, until
from screen import Terminal

MENU = r"none is set up yet"
# The same to its last line: keys are read.
LISTED = rf"(?s){MENU}.*Press 1 to 7"
GOOD = "sk-good-0123456789abcdefghijklmnopqrstuvwxyz"


class Vendor:
    """Lists its models to whoever has the key; says nothing sensible while it is down."""

    def __init__(self):
        vendor = self
        self.up, self.asked = True, []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                key = self.headers.get("x-api-key") or self.headers.get("authorization", "")
                vendor.asked.append((self.path, key))
                status = 200 if vendor.up else 503
                if vendor.up and "limit=" in self.path and key != GOOD:
                    status = 401
                body = json.dumps({"data": [{"id": "tiny", "max_model_len": 65536}]}).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()


def bare(name):
    """A house in which nobody set anything."""
    house = House(name)
    os.remove(os.path.join(house.folder, "config/weir/config.toml"))
    return house


def f1_the_first_minute_takes_a_key_that_works():
    house, vendor = bare("first-key"), Vendor()
    house.env["ANTHROPIC_BASE_URL"] = vendor.url
    try:
        with Terminal(house) as term:
            term.start(ready=MENU)
            # Keys that mean nothing there do nothing.
            term.keys("x", "0", "9", "Up", "Enter", "Space", "Tab")
            term.keys("1")
            term.wait(r"Paste your API key for Anthropic")
            term.keys("Enter")
            term.type("sk-wrong-key")
            term.wait(r"\*{12}")
            term.keys("BSpace", "BSpace", "C-u")
            term.gone(r"\*\*")
            term.type("sk-wrong-key")
            term.keys("Enter")
            term.wait(r"not accepted \(HTTP 401\)")
            term.type("two words")
            term.keys("Enter")
            term.wait("That is not a key")
            term.paste(GOOD)
            term.keys("Enter")
            term.wait_all("the key works")
            term.wait_all("only you can read it")
            term.wait(words.READY)
            term.wait("anthropic/")
            file = os.path.join(house.folder, "config/weir/keys.toml")
            same(stat.S_IMODE(os.stat(file).st_mode), 0o600, "who may read the file of keys")
            with open(file, encoding="utf-8") as kept:
                holds(f'anthropic = "{GOOD}"' in kept.read(), "the key is kept, and it alone")
            holds("sk-" not in term.scrollback(), "no key was ever shown")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
            term.restored()
            # From now on nothing is asked.
            term.start(ready=words.READY)
            holds(not term.has(MENU), "it asks once")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
    finally:
        vendor.close()
        house.end()


def f1_a_key_that_cannot_be_checked_is_kept_only_when_a_person_says_so():
    house, vendor = bare("first-unsaid"), Vendor()
    house.env["ANTHROPIC_BASE_URL"] = vendor.url
    vendor.up = False
    file = os.path.join(house.folder, "config/weir/keys.toml")
    try:
        with Terminal(house) as term:
            term.start(ready=MENU)
            term.keys("1")
            for answer in ("Enter", "n", "Escape"):
                term.wait(r"Key:\s*$")
                term.type(GOOD)
                term.keys("Enter")
                term.wait(r"Save it anyway\? \[y/N\] $|Save it anyway\? \[y/N\]\s*$")
                term.keys(answer)
                if answer == "n":
                    term.keys("Enter")
                # Escape stands for itself only when nothing follows it at once.
                term.wait(r"Key:\s*$")
                holds(not os.path.exists(file), f"nothing is kept after {answer}")
                term.keys("C-l")
            term.type(GOOD)
            term.keys("Enter")
            until("it is asked once more", lambda: len(vendor.asked) >= 4)
            term.wait(r"y/N\]\s*$")
            term.type("y")
            term.keys("Enter")
            term.wait(words.READY)
            holds(os.path.exists(file), "it is kept")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
    finally:
        vendor.close()
        house.end()


def f1_the_first_minute_is_left_with_escape():
    house = bare("first-left")
    try:
        with Terminal(house) as term:
            for steps in (("Escape",), ("C-c",), ("q",), ("C-d",), ("1", "Escape", "Escape"),
                          ("5", "Escape", "Escape"), ("1", "C-c"), ("6", "Escape", "Escape")):
                term.start(ready=LISTED)
                for key in steps[:-1]:
                    before = term.screen()
                    term.keys(key)
                    # Escape stands for itself only when nothing follows it at once.
                    until(f"{key} is taken", lambda: term.screen() != before)
                    time.sleep(0.3)
                term.keys(steps[-1])
                same(term.status(), 0, f"the exit status after {steps}")
                term.restored()
                term.tmux("clear-history")
            holds(not os.path.exists(os.path.join(house.folder, "config/weir/keys.toml")),
                  "nothing was kept")
            term.nothing_left()
    finally:
        house.end()


def f1_the_first_minute_finds_a_server_on_this_machine():
    house, vendor = bare("first-local"), Vendor()
    house.env["VLLM_BASE_URL"] = f"{vendor.url}/v1"
    vendor.up = False
    try:
        with Terminal(house) as term:
            term.start(ready=MENU)
            term.keys("6")
            term.wait("No model server found")
            holds(term.has(vendor.url), "where it looked")
            vendor.up = True
            term.keys("Enter")
            term.wait_all(r"Found vllm/tiny")
            term.wait(words.READY)
            term.wait("vllm/tiny")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
            # One that answers from the start is taken without a question.
            term.start(ready=words.READY)
            term.wait("vllm/tiny")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
    finally:
        vendor.close()
        house.end()


def f1_the_first_minute_shows_the_demo_and_comes_back():
    house = bare("first-demo")
    try:
        with Terminal(house, size=(100, 60)) as term:
            term.start(ready=MENU)
            term.keys("7")
            term.wait_all("This is a demonstration")
            term.wait(r"(?s)greet\.sh.*Press 1 to 7, \? to list")
            time.sleep(0.3)
            same(term.scrollback().count("none is set up yet"), 1, "times that the menu is listed")
            term.keys("?")
            term.wait(rf"(?s)Press 1 to 7.*{MENU}.*Press 1 to 7")
            time.sleep(0.3)
            term.keys("Escape")
            same(term.status(), 0, "the exit status")
            term.restored()
    finally:
        house.end()


def f1_a_model_that_needs_a_key_asks_for_that_key():
    house, vendor = bare("first-named"), Vendor()
    house.env["ANTHROPIC_BASE_URL"] = vendor.url
    try:
        with Terminal(house) as term:
            term.start("-m", "anthropic/claude-sonnet-5-5", ready="needs a key for Anthropic")
            term.wait("Key:")
            term.type(GOOD)
            term.keys("Enter")
            term.wait(words.READY)
            term.wait("anthropic/claude-sonnet-5-5")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
    finally:
        vendor.close()
        house.end()


def f1_without_a_terminal_the_first_minute_is_a_plain_message():
    house = bare("first-pipe")
    try:
        for flags in ((), ("--plain",)):
            done = subprocess.run([WEIR, *flags], input=b"1\n", cwd=house.work, env=house.env,
                                  capture_output=True, timeout=PATIENCE, check=False)
            same(done.returncode, 2, f"the exit status with {flags}")
            holds(b"weir" in done.stderr and done.stdout == b"", f"{done.stderr!r}")
        holds(b"weir auth set" in done.stderr, "the ways to go on")
    finally:
        house.end()
