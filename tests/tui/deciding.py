"""Deciding in the face, with the words of the command line: what is shown first, which keys agree to it,
and which never do."""

import os
import re
import time

import words
from house import Failed, House, holds, until
from screen import Terminal, hurried

PLUGIN = """id = "demo"
name = "Demo"
version = "1"
description = "Counts lines."
[commands.count]
run = "wc -l {{file}}"
args = [{ name = "file" }]
"""
ASKED = r"Enable it\?"
# Longer than the pause that a yes wants before it.
PAUSE = 1.0


def with_plugin(house, text=PLUGIN):
    folder = os.path.join(house.folder, "config/weir/plugins/demo")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "plugin.toml"), "w") as out:
        out.write(text)


def is_enabled(house):
    return bool(re.search(r"(?m)^demo +enabled", house.weir("plugins", "list")))


def r10_a_plugin_is_enabled_only_by_a_deliberate_yes():
    for _ in range(10):
        if hurried_then_deliberate():
            return
    raise Failed("no try was quick enough to be one by mistake")


def hurried_then_deliberate():
    """Whether the keys that decide nothing came as fast as those of somebody who does not look."""
    house = House("deciding")
    try:
        with_plugin(house)
        with Terminal(house) as term:
            term.start(ready=words.READY)
            # A key that was on its way when the dialog came.
            term.type("/plugins enable demo")
            term.wait("/plugins enable demo")
            term.keys("Enter", "y")
            term.wait(ASKED)
            term.wait(re.escape("wc -l {{file}}"))
            # Enter, held down, and what is pasted.
            presses = [lambda: term.keys("Enter")] * 20
            presses += [lambda: term.paste("y"), lambda: term.paste("yes\ny\n")]
            presses += [lambda: term.keys("y")] * 30
            if hurried(presses, 0.03) >= words.QUIET:
                return False
            holds(not is_enabled(house), "nothing was decided by mistake")
            term.wait("too quick")
            term.keys("Escape")
            term.gone("too quick")
            time.sleep(PAUSE)
            holds(not is_enabled(house), "Escape leaves it as it was")
            term.say("/plugins enable demo")
            term.wait(ASKED)
            time.sleep(PAUSE)
            term.keys("y")
            term.wait("demo is enabled")
            holds(is_enabled(house), "a yes enables it")
            return True
    finally:
        house.end()


def r10_what_changed_after_it_was_shown_is_shown_anew():
    house = House("changed")
    try:
        with_plugin(house)
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("/plugins enable demo")
            term.wait(ASKED)
            with_plugin(house, PLUGIN.replace("wc -l", "rm -rf"))
            time.sleep(PAUSE)
            term.keys("y")
            term.wait("It changed meanwhile")
            term.wait(re.escape("rm -rf {{file}}"))
            holds(not is_enabled(house), "neither of them is enabled")
            term.keys("n")
            term.gone("It changed meanwhile")
            holds(not is_enabled(house), "a no leaves it as it was")
    finally:
        house.end()


def r10_an_approval_of_another_session_is_answered_here():
    house = House("elsewhere")
    try:
        house.script('calls: run_shell {"command": "echo one > made"}\n\nsays: All done.\n')
        with Terminal(house) as other, Terminal(house) as term:
            other.start(ready=words.READY)
            other.say("make it")
            other.wait(words.CHOICES)
            asked = re.search(r"\S+-a1\b", house.weir("approvals", "list")).group(0)
            term.start(ready=words.READY)
            term.say("/approvals")
            term.wait(re.escape(asked[:8]))
            term.keys("q")
            term.say(f"/approvals answer {asked} once")
            term.wait(re.escape("echo one > made"))
            term.keys("End")
            term.wait(r"Allow it this once\?")
            time.sleep(PAUSE)
            term.keys("y")
            other.wait("All done")
            until("the command ran", lambda: os.path.exists(os.path.join(house.work, "made")))
    finally:
        house.end()
