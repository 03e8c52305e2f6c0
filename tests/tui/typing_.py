"""The box: long pastes, completion of files and commands, lines, history, modes."""

import os
import re
import time

import words
from house import House, field, holds, kind, same, until
from screen import Terminal

FILES = 100_000


def f1_a_paste_of_5_mb_is_one_token_and_arrives_whole():
    line = "0123456789 abcdefghijklmnopqrstuvwxyz äöü 漢字 "
    text = "begin-of-paste\n" + line * (5_000_000 // len(line.encode())) + "\nend-of-paste"
    house = House("paste", script="window: 10000000\n\nsays: Read it.\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            began = time.monotonic()
            term.paste(text)
            term.wait(r"(?i)\[pasted")
            shown = time.monotonic() - began
            holds(not term.has("end-of-paste"), "the text itself is not spread out")
            term.type(" look at it")
            term.wait("look at it")
            began = time.monotonic()
            term.keys("Enter")
            facts = house.wait_fact("input.accepted")
            said = "".join(block.get("text", "") for block in field(facts[0], "content"))
            holds(text in said, f"the paste stands whole in the journal ({len(said)} characters)")
            holds(said.rstrip().endswith("look at it"), "what was typed behind it follows")
            term.wait("Read it")
            return f"{shown:.2f} s to its token, {time.monotonic() - began:.2f} s to the answer"
    finally:
        house.end()


def f1_a_paste_of_lines_sends_nothing_by_itself():
    house = House("lines", script="says: Read it.\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.paste("one\ntwo\n")
            term.wait("two")
            holds(not house.sessions(), "nothing was said")
            term.keys("Enter")
            term.wait("Read it")
            facts = house.wait_fact("input.accepted")
            said = "".join(block.get("text", "") for block in field(facts[0], "content"))
            same(said.rstrip("\n"), "one\ntwo", "what was said")
    finally:
        house.end()


def f1_files_and_commands_are_completed_over_100_000_files():
    house = House("files", script="says: Seen.\n")
    for folder in range(FILES // 1000):
        path = os.path.join(house.work, f"dir{folder:03}")
        os.makedirs(path)
        for file in range(1000):
            open(os.path.join(path, f"file{file:03}.txt"), "w").close()
    house.write("dir050/the_needle_here.rs", "fn needle() {}\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            began = time.monotonic()
            term.type("look at @theneedle")
            term.wait(r"dir050/the_needle_here\.rs")
            first = time.monotonic() - began
            for _ in range(3):
                term.keys("BSpace")
            began = time.monotonic()
            term.type("dle")
            term.wait(r"@theneedle")
            term.wait(r"dir050/the_needle_here\.rs")
            again = time.monotonic() - began
            term.keys("Tab")
            term.wait(r"@dir050/the_needle_here\.rs")
            term.keys("Enter")
            term.wait("Seen")
            facts = house.wait_fact("input.accepted")
            holds("the_needle_here.rs" in str(facts[0]), "the file went with it")
            term.type("/perm")
            term.wait("/permissions")
            term.keys(words.WIPE)
            term.type("/")
            for name in ("help", "model"):
                term.wait(f"/{name}")
            term.keys(words.WIPE)
            return f"{first:.2f} s to the first list, {again:.2f} s to the next"
    finally:
        house.end()


def f1_lines_and_history():
    house = House("history", script="says: One.\n\nsays: Two.\n\nsays: Three.\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.type("line a")
            term.keys(words.NEW_LINE)
            term.type("line b")
            term.wait("line a")
            term.wait("line b")
            term.keys("Enter")
            term.wait("One")
            facts = house.wait_fact("input.accepted")
            same(field(facts[0], "content")[0]["text"], "line a\nline b", "what was said")
            term.gone(words.BUSY)
            term.keys("Up")
            until("the last message is in the box again",
                  lambda: len(re.findall("line b", term.screen())) == 2)
            term.keys(words.WIPE, words.WIPE, words.WIPE)
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
            # Another program finds it too.
            term.start(ready=words.READY)
            holds(not term.has("line b"), "the screen is clear")
            term.keys("Up")
            term.wait(words.LEAVE)
            term.keys("Up")
            term.wait("line b")
    finally:
        house.end()


def f1_permission_modes_change_and_count():
    script = ('calls: write_file {"path": "made.txt", "content": "made\\n"}\n\n'
              'says: All done.\n')
    house = House("modes", script)
    try:
        with Terminal(house) as term:
            term.start(ready=r"\bask\b")
            term.keys(words.NEXT_MODE)
            term.wait(words.WIDENS)
            holds(not term.has(r"(?m)^ ?auto-edit ·"), "it only asks")
            time.sleep(0.6)
            term.keys("Enter")
            term.wait(r"(?m)^ ?auto-edit ·")
            term.say("write it")
            term.wait("All done")
            same(house.read("made.txt"), "made\n", "the file, written without a question")
            holds("approval.requested" not in house.kinds(), "nobody was asked")
            term.keys(words.NEXT_MODE)
            term.wait(r"\bplan\b")
            modes = [field(fact, "permission") for fact in house.facts()
                     if kind(fact) == "session.opened"]
            same(modes, ["auto-edit"], "the mode of the session")
    finally:
        house.end()


def f1_in_plan_mode_nothing_is_written():
    script = ('calls: write_file {"path": "made.txt", "content": "made\\n"}\n\n'
              'says: I could not.\n')
    house = House("plan", script)
    try:
        with Terminal(house) as term:
            term.start(ready=r"\bask\b")
            for _ in range(4):
                if term.has(r"\bplan\b"):
                    break
                before = term.screen()
                term.keys(words.NEXT_MODE)
                until("the mode changes", lambda: term.screen() != before)
            term.wait(r"\bplan\b")
            term.say("write it")
            term.wait("I could not")
            holds(not os.path.exists(os.path.join(house.work, "made.txt")), "nothing was written")
    finally:
        house.end()


def f1_the_thinking_level_changes():
    house = House("thinking", script="think: Deep thoughts.\nsays: Thought.\n\nsays: Two.\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            before = term.screen()
            term.keys(words.THINKING)
            until("the screen says so", lambda: term.screen() != before)
            term.say("think")
            term.wait("Thought")
            facts = [fact for fact in house.facts()
                     if kind(fact) in ("session.opened", "session.configured")]
            level = field(facts[-1], "config").get("thinking")
            holds(level not in (None, "off", "default"), f"the session thinks: {level}")
            return str(level)
    finally:
        house.end()


def f1_a_command_of_the_person_runs_in_the_shell():
    house = House("shell", 'expect: "bang-42"\nsays: I saw it.\n', files={"a.txt": "a\n"})
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.type("!sleep 1000")
            term.wait("sleep 1000")
            term.keys("Enter")
            running = lambda: [1 for _, line in house.processes() if "sleep 1000" in line]
            until("the command runs", running)
            term.keys(words.INTERRUPT)
            until("the command is gone", lambda: not running())
            term.wait(words.KEEP)
            term.keys("Escape")
            term.gone(words.KEEP)
            term.type("!echo bang-$((40 + 2)); ls")
            term.wait("; ls")
            term.keys("Enter")
            term.wait(r"(?s)bang-42.*a\.txt.*" + words.KEEP)
            holds(not house.sessions(), "nobody was told")
            term.keys("Enter")
            term.gone(words.KEEP)
            term.say("what was that")
            term.wait("I saw it")
    finally:
        house.end()
