"""Terminals that can do little, and none at all: no colour, line mode, screen readers, dumb ones."""

import os
import re
import subprocess

import words
from house import PATIENCE, WEIR, Failed, House, field, holds, kind, same, until
from screen import Terminal
from wire import Wire, sequences

# SGR parameters that name a colour.
COLOUR = re.compile(r"\x1b\[(?:[\d;:]*[;:])?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:[;:][\d;:]*)?m")
ANSWER = "Some **strong** words and `code`.\n\n```rust\nfn main() {}\n```\n"


def script(text):
    return "says: |\n" + "".join(f"  {line}\n" for line in text.split("\n"))


def f1_without_colour_no_colour_is_written():
    house = House("colour", script(ANSWER))
    try:
        for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
            with Wire(house, env=env) as wire:
                wire.ready()
                wire.say("say it")
                wire.wait(r"fn main")
                wire.quiet(0.5)
                found = COLOUR.search(wire.bytes().decode(errors="replace"))
                same(bool(found), coloured, f"whether there is colour with {env}")
            with Terminal(house, env=env, term="screen-256color") as term:
                term.start(ready=words.READY)
                term.say("say it")
                term.wait("fn main")
                same(bool(COLOUR.search(term.coloured())), coloured, f"colour in tmux with {env}")
    finally:
        house.end()


def piped(house, *flags, typed, status=0, env=None):
    """The program with pipes at both ends: what it wrote."""
    done = subprocess.run([WEIR, *flags], input=typed.encode(), cwd=house.work, timeout=PATIENCE,
                          env=dict(house.env, **(env or {})), capture_output=True, check=False)
    text = done.stdout.decode()
    same(done.returncode, status, f"the exit status; it said {text}{done.stderr.decode()}")
    return text, done.stderr.decode()


class Talk:
    """The program with pipes at both ends, and somebody who reads before they write."""

    def __init__(self, house, *flags):
        self.path = os.path.join(house.folder, "talk")
        with open(self.path, "wb") as out:
            self.child = subprocess.Popen([WEIR, *flags], cwd=house.work, env=house.env,
                                          stdin=subprocess.PIPE, stdout=out, stderr=out)

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def wait(self, wanted):
        try:
            until(f"{wanted!r} was said", lambda: wanted in self.text())
        except Failed as failed:
            raise Failed(f"{failed}\n{self.text()}") from None

    def say(self, line):
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()

    def end(self):
        self.child.stdin.close()
        try:
            return self.child.wait(PATIENCE)
        finally:
            self.child.kill()
            self.child.wait()


ASKING = 'says: First answer.\n\ncalls: run_shell {"command": "echo x > made"}\n\nsays: Second answer.\n'


def f1_line_mode_speaks_in_lines_over_pipes():
    house = House("plain", ASKING)
    try:
        talk = Talk(house, "--plain")
        talk.say("one")
        talk.wait("First answer.")
        talk.say("two")
        talk.wait("echo x > made")
        holds(not os.path.exists(os.path.join(house.work, "made")), "nothing is done before a yes")
        talk.wait("?")
        talk.say("y")
        talk.wait("Second answer.")
        same(talk.end(), 0, "the exit status")
        same(house.read("made"), "x\n", "what it made")
        same(sequences(talk.text().replace("\n", "")), [], "controls in the output")
        holds("weir --resume" in talk.text(), f"the way back is said: {talk.text()}")
    finally:
        house.end()


def f1_what_is_piped_into_line_mode_is_said_line_by_line():
    house = House("piped", "says: First answer.\n\nsays: Second answer.\n")
    try:
        text, _ = piped(house, "--plain", typed="one\ntwo\n")
        holds("First answer." in text and "Second answer." in text, f"both answers stand in {text!r}")
        said = [field(fact, "content")[0]["text"] for fact in house.facts()
                if kind(fact) == "input.accepted"]
        same(said, ["one", "two"], "what was said")
    finally:
        house.end()


def f1_in_line_mode_no_answer_is_a_no():
    house = House("plain-no", 'calls: run_shell {"command": "echo x > made"}\n\nsays: I see.\n')
    try:
        done = subprocess.run([WEIR, "--plain"], input=b"one\n", cwd=house.work, timeout=PATIENCE,
                              env=house.env, capture_output=True, check=False)
        holds(not os.path.exists(os.path.join(house.work, "made")), "nothing was done")
        holds(b"echo x > made" in done.stdout, "it was asked")
    finally:
        house.end()


def f1_for_screen_readers_words_stand_for_signs():
    house = House("reader", script(ANSWER) + '\n' + ASKING)
    try:
        talk = Talk(house, "--screen-reader")
        talk.say("one")
        talk.wait("Some strong words")
        talk.wait("fn main")
        talk.say("two")
        talk.wait("First answer.")
        talk.say("three")
        talk.wait("echo x > made")
        talk.say("y")
        talk.wait("Second answer.")
        same(talk.end(), 0, "the exit status")
        signs = re.findall(r"[─-╿▀-▟■-◿✀-➿⠀-⣿]", talk.text())
        same(signs, [], "drawn signs")
        same(sequences(talk.text().replace("\n", "")), [], "controls in the output")
    finally:
        house.end()


def f1_a_screen_reader_in_a_terminal_reads_nothing_twice():
    house = House("reader-tty", "pace: 30ms\nsays: one two three four five six seven eight.\n")
    try:
        with Wire(house, "--screen-reader") as wire:
            wire.quiet(0.7)
            wire.send("say it\r")
            wire.wait("eight")
            wire.quiet(0.5)
            data = wire.bytes().decode()
            moved = [one for one in sequences(data) if re.fullmatch(r"\x1b\[[\d;]*[ABDHJKf]", one)
                     or one.startswith("\x1b[?1049")]
            same(moved, [], "what moves the cursor or clears")
            same(len(re.findall("seven", wire.text())), 1, "how often a word is written")
    finally:
        house.end()


def f1_terminals_without_features_do():
    house = House("features", "says: Hello to you.\n")
    try:
        for term in ("dumb", "vt100", "linux", "no-such-terminal", None):
            with Wire(house, term=term, answers=False) as wire:
                wire.quiet(0.7)
                wire.send("hello\r")
                wire.wait("Hello to you")
                if term in ("dumb", None):
                    found = [one for one in sequences(wire.bytes().decode())
                             if one.startswith("\x1b")]
                    same(found, [], f"sequences with TERM={term}")
                wire.send("\x03")
                wire.send("\x03")
                wire.send("\x04")
                wire.ended()
    finally:
        house.end()


def f1_a_window_of_no_size_does():
    house = House("zero", "says: Hello to you.\n")
    try:
        with Wire(house, size=(0, 0)) as wire:
            wire.quiet(0.5)
            wire.send("hello\r")
            house.wait_fact("run.finished")
            holds(wire.alive(), "it lives")
            wire.resize(80, 24)
            wire.send(" ")
            wire.wait("script/model")
            for size in ((0, 24), (80, 0), (65535, 65535), (1, 1), (80, 24)):
                wire.resize(*size)
                before = len(wire.bytes())
                wire.send("z")
                wire.quiet(0.3)
                holds(wire.alive(), f"it lives at {size} ({before})")
            wire.wait("zzz")
    finally:
        house.end()


def f1_without_a_terminal_it_says_what_does_without():
    house = House("none", "says: Hello to you.\n")
    try:
        done = subprocess.run([WEIR], stdin=subprocess.DEVNULL, cwd=house.work, timeout=PATIENCE,
                              env=dict(house.env, TERM="xterm"), capture_output=True, check=False)
        same(done.returncode, 2, "the exit status")
        said = done.stderr.decode()
        holds("weir run" in said, f"what to do instead stands in {said!r}")
    finally:
        house.end()


def g4_a_line_begun_before_the_question_does_not_answer_it():
    house = House("line-early", "")
    house.script("pace: 300ms\nsays: |\n" + "".join(f"  w{n}\n" for n in range(16)) +
                 'calls: run_shell {"command": "touch made"}\n\nsays: All done.\n')
    made = os.path.join(house.work, "made")
    try:
        with Wire(house, "--plain") as wire:
            wire.wait("Type a message")
            wire.send("make it\r")
            wire.wait(r"\bw0\b")
            # Somebody writes, the question comes, and their last letter would be a yes.
            wire.send("we should sa")
            wire.wait("touch made")
            wire.quiet(0.5)
            wire.send("y\r")
            wire.wait("begun before this was asked")
            holds("approval.resolved" not in house.kinds(), "nothing is answered")
            holds(not os.path.exists(made), "nothing was done")
            said = house.wait_fact("input.accepted", times=2)
            same(field(said[1], "content")[0]["text"], "we should say", "it is a message")
            wire.quiet(0.5)
            # The terminal edits lines as before, and a line of its own answers.
            wire.send("no\x7f\x7fyes\r")
            house.wait_fact("approval.resolved")
            until("it was made", lambda: os.path.exists(made))
    finally:
        house.end()


def l12_in_line_mode_what_waited_is_printed_back():
    house = House("line-back", "pace: 300ms\nsays: |\n" +
                  "".join(f"  word{n} and more\n" for n in range(60)))
    try:
        talk = Talk(house, "--plain")
        talk.say("begin")
        talk.wait("word2")
        talk.child.send_signal(2)
        talk.wait("Cut off here")
        talk.end()
        with Wire(house, "--plain") as wire:
            wire.wait("Type a message")
            wire.send("begin\r")
            wire.wait("word2")
            wire.send("and then the docs\r")
            house.wait_fact("input.accepted", times=2)
            house.weir("pause")
            wire.wait(r"Your message was:\s+and then the docs")
            wire.wait("Cut off here: the run was ended")
            house.weir("release")
    finally:
        house.end()
