"""What fingers know from other agents: slash commands, a slip of the finger, what is copied, long
pastes and long output."""

import base64
import os
import re
import time

import words
from house import House, field, holds, kind, same, until
from screen import Terminal
from wire import Wire

# A line of code that is longer than the terminal is wide.
LONG = "let names: Vec<String> = people.iter().filter(|one| one.is_here()).map(|one| one.name()).collect();"
CODE = f"Here it is:\n\n```rust\nfn all() {{\n    {LONG}\n}}\n```\n\nDone so."


def script(text):
    return "says: |\n" + "".join(f"  {line}\n" for line in text.split("\n"))


def at_rest(copy):
    """What tmux copies, where rows that the terminal broke itself are one line, once a resize is painted:
    it stays the same for a moment."""
    last = [None]

    def look():
        before, last[0] = last[0], copy()
        time.sleep(0.3)
        return last[0] == before and last[0]
    return until("the screen stands still", look)


def f1_code_copied_from_the_terminal_has_no_breaks_that_nobody_wrote():
    for streamed in ("pace: 5ms\n", ""):
        house = House("code", streamed + script(CODE))
        try:
            with Terminal(house) as term:
                term.start(ready=words.READY)
                term.say("show it")
                term.wait(words.DONE)
                for size in ((80, 24), (50, 20), (120, 40), (80, 24)):
                    term.resize(*size)
                    copied = at_rest(lambda: term.tmux("capture-pane", "-p", "-J", "-S", "-"))
                    lines = [line.strip() for line in copied.split("\n")]
                    same(lines.count(LONG), 1, f"the line as it was written, at {size}: {copied}")
                    same(len(re.findall("Done so", copied)), 1, "the end stands once")
                term.say(words.LEAVE)
                same(term.status(), 0, "the exit status")
        finally:
            house.end()


def f1_copy_puts_the_answer_into_the_clipboard():
    house = House("copy", script(CODE))
    try:
        with Wire(house) as wire:
            wire.ready()
            wire.say("/copy")
            wire.wait("nothing to copy")
            wire.say("show it")
            wire.wait("─ Done")
            for typed, wanted in (("/copy", CODE), ("/copy code", f"fn all() {{\n    {LONG}\n}}\n")):
                before = len(wire.bytes())
                wire.say(typed)
                until("the terminal has it", lambda: b"]52;c;" in wire.bytes()[before:])
                wire.quiet(0.3)
                found = re.findall(rb"\x1b\]52;c;([^\x1b]*)\x1b\\", wire.bytes()[before:])
                same([base64.b64decode(one).decode() for one in found], [wanted], typed)
    finally:
        house.end()


def f1_commands_that_fingers_know_work_or_say_what_does():
    house = House("fingers", 'expect: "AGENTS.md"\nsays: I look at it.\n\nexpect: "Review"\n'
                             'says: I review it.\n\nexpect: "the plan"\nsays: I plan it.\n')
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            for typed, shown in (("/status", r"(?s)Status.*Session.*Model +script/model"),
                                 ("/config", r"(?s)Settings.*permission"),
                                 ("/usage", r"Cost"),
                                 ("/diff", r"nothing (was said|changed)|Changes of this session")):
                term.say(typed)
                term.wait(shown)
                time.sleep(0.3)
                term.keys("q" if term.has("q closes") else words.WIPE)
                term.gone("q closes")
                term.wait(words.READY)
            for typed, told in (("/login", "weir auth set PROVIDER"), ("/rename", "/resume finds it"),
                                ("/hooks", r"config\.toml"),
                                ("/exti", r"no command /exti: did you mean /exit\?"),
                                ("/qiut", r"did you mean /quit\?"),
                                ("/xyzzy", r"no command /xyzzy: /help lists all")):
                term.say(typed)
                term.wait(told)
                term.keys(words.WIPE)
            term.say("/init")
            term.wait("I look at it")
            term.say("/review")
            term.wait("I review it")
            term.wait(words.DONE)
            term.say("/plan make the plan")
            term.wait("I plan it")
            term.wait(r"(?m)^ ?plan ·")
            house.wait_fact("run.finished", times=3)
            term.say("/new")
            term.wait_all(r"(?s)I plan it.*Weir in ")
            term.say("/exit")
            same(term.status(), 0, "the exit status")
            term.restored()
    finally:
        house.end()


def f1_a_workflow_of_the_folder_keeps_its_name():
    house = House("own-review", 'expect: "my own review"\nsays: I heard it.\n')
    folder = os.path.join(house.folder, "config/weir/commands")
    os.makedirs(folder)
    with open(os.path.join(folder, "review.md"), "w") as out:
        out.write("Say only: my own review.\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("/review")
            term.wait("I heard it")
    finally:
        house.end()


def f1_a_fork_says_that_it_is_one():
    house = House("fork", "says: First.\n\nsays: Second.\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("one")
            term.wait("First")
            house.wait_fact("run.finished")
            first = house.session()
            term.say("/fork")
            term.wait_all(rf"This is a copy of session\s+{first[:8]}")
            same(len(house.sessions()), 2, "there are two")
    finally:
        house.end()


def f1_a_long_paste_stays_folded_when_it_is_sent():
    pasted = "\n".join(f"pasted line {n}" for n in range(1, 501))
    house = House("folded", 'expect: "pasted line 250"\nsays: I read all of it.\n')
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.paste(pasted)
            term.wait(r"\[Pasted text #1: 500 lines\]")
            term.keys("Enter")
            term.wait("I read all of it")
            shown = term.scrollback()
            for line in ("pasted line 1", "pasted line 3", "pasted line 500"):
                holds(re.search(rf"{line}\b", shown), f"{line} is shown")
            holds("496 more lines" in shown, f"the rest is counted: {shown}")
            holds("pasted line 250" not in shown, "the rest is not printed")
            said = [field(fact, "content")[0]["text"] for fact in house.facts()
                    if kind(fact) == "input.accepted"]
            same(said, [pasted], "what the model gets")
    finally:
        house.end()


def f1_long_output_shows_its_two_ends_and_no_note_for_the_model():
    house = House("output", 'calls: run_shell {"command": "seq 1 20000"}\n\nsays: Counted.\n',
                  permission="full")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("count")
            term.wait("Counted")
            shown = term.scrollback()
            holds(re.search(r"(?m)^\s+1\n\s+2\n", shown), f"its beginning: {shown}")
            holds(re.search(r"(?m)^\s+19999\n\s+20000\n", shown), f"its end: {shown}")
            holds(re.search(r"… 1999\d more lines", shown), f"how much is between: {shown}")
            holds("read_file" not in shown and "Result of" not in shown, f"no note: {shown}")
    finally:
        house.end()


def f1_stopping_is_told_once():
    house = House("stop", "pace: 300ms\nsays: " + " ".join(f"w{n}" for n in range(90)) + "\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("count")
            term.wait(r"\bw2\b")
            term.say("and this")
            house.wait_fact("input.accepted", times=2)
            term.keys(words.INTERRUPT)
            term.wait("─ You stopped it")
            term.wait("Your message is back in the box|Your queued message is back in the box")
            term.wait("> and this")
            shown = term.scrollback()
            for word in ("ends the run", "Cancelled by", "person"):
                holds(word not in shown, f"no {word!r} in {shown}")
    finally:
        house.end()
