"""Leaving, in every way there is: the terminal is as it was, and how to come back is said."""

import os
import re
import signal
import termios

import words
from house import WEIR, Failed, House, holds, same, until
from screen import Terminal
from wire import Wire


def said(term):
    term.start(ready=words.READY)
    term.say("hello")
    term.wait("Hello to you")
    term.gone(words.BUSY)


def f1_signals_restore_the_terminal_and_say_the_way_back():
    house = House("signals", script="says: Hello to you.\n")
    try:
        for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with Terminal(house) as term:
                said(term)
                os.kill(term.pid(), number)
                same(term.status(), status, f"the exit status after {number.name}")
                term.wait(rf"weir --resume {house.session()[:8]}")
                term.restored()
                term.nothing_left()
    finally:
        house.end()


def f1_signals_during_a_run_end_it_and_its_commands():
    script = 'calls: run_shell {"command": "sleep 1000"}\n\nsays: Over.\n'
    house = House("signalled", script, permission="full")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("wait")
            until("the command runs",
                  lambda: [1 for _, w in house.processes() if "sleep 1000" in w])
            os.kill(term.pid(), signal.SIGTERM)
            same(term.status(), 143, "the exit status")
            term.restored()
            term.nothing_left()
    finally:
        house.end()


def f1_ctrl_c_twice_leaves_and_once_does_not():
    house = House("ctrl-c", script="says: Hello to you.\n")
    try:
        with Terminal(house) as term:
            said(term)
            pid = term.pid()
            term.type("half a thought")
            term.wait("half a thought")
            term.keys("C-c")
            term.gone("half a thought")
            same(term.pid(), pid, "the process after the first")
            term.keys("C-c")
            term.wait("(?i)again")
            term.keys("C-c")
            holds(term.status() in (0, 130), "it left")
            term.wait("weir --resume")
            term.restored()
    finally:
        house.end()


def f1_ctrl_d_leaves_when_the_box_is_empty():
    house = House("ctrl-d", script="says: Hello to you.\n")
    try:
        with Terminal(house) as term:
            said(term)
            term.keys("C-d")
            same(term.status(), 0, "the exit status")
            term.restored()
    finally:
        house.end()


def f1_ctrl_z_gives_the_shell_back_and_fg_the_face():
    house = House("ctrl-z", script="says: Hello to you.\n\nsays: And again.\n")
    try:
        with Terminal(house) as term:
            said(term)
            term.keys("C-z")
            until("the shell is back", lambda: len(term.prompts()) > term.told)
            term.restored()
            term.type("echo shell-$((6 * 7))")
            term.keys("Enter")
            term.wait("shell-42")
            term.type("fg")
            term.keys("Enter")
            term.wait(words.READY)
            term.say("once more")
            term.wait("And again")
            term.told = len(term.prompts())
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
            term.restored()
    finally:
        house.end()


def f1_a_terminal_that_goes_away_ends_the_program():
    script = 'calls: run_shell {"command": "sleep 1000"}\n\nsays: Over.\n'
    house = House("gone", script, permission="full")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("wait")
            until("the command runs",
                  lambda: [1 for _, w in house.processes() if "sleep 1000" in w])
            term.close()
            until("no process is left", lambda: not house.processes())
    finally:
        house.end()


def f1_nothing_that_was_switched_on_stays_on():
    """By the bytes: what begins with `h` ends with `l`, in every way to leave."""
    house = House("modes", script="says: Hello to you.\n")
    try:
        for number in (None, signal.SIGTERM, signal.SIGHUP):
            with Wire(house) as wire:
                wire.ready()
                before = wire.settings()
                holds(not before[3] & termios.ECHO, "the terminal is raw while it runs")
                if number is None:
                    wire.say(words.LEAVE)
                else:
                    os.kill(wire.pid, number)
                wire.ended()
                data = wire.bytes()
                on = {}
                for mode, what in re.findall(rb"\x1b\[\?([0-9;]+)([hl])", data):
                    for one in mode.split(b";"):
                        on[one] = what
                # The cursor (25) is shown, all others are off.
                left = [mode for mode, what in on.items()
                        if (what == b"h") != (mode == b"25") and mode != b"7"]
                same(left, [], f"modes that stay switched ({number})")
                pushed = data.count(b"\x1b[>") - data.count(b"\x1b[<")
                keyboard = re.findall(rb"\x1b\[([<>])[0-9;]*u", data)
                same(keyboard.count(b">"), keyboard.count(b"<"), f"keyboard modes {pushed}")
    finally:
        house.end()


def f1_a_panic_restores_the_terminal_and_can_be_read():
    program = os.path.join(os.path.dirname(os.path.abspath(WEIR)), "examples/panics")
    holds(os.path.exists(program), f"{program} is there: cargo build -p weir-tui --examples")
    house = House("panic")
    try:
        for where in ("here", "elsewhere"):
            with Terminal(house) as term:
                term.start(where, program=program, ready=words.READY)
                term.say("unheard of")
                if where == "elsewhere" and not returned(term):
                    # The face may go on without its other end; then it is left like any other.
                    term.say(words.LEAVE)
                status = term.status()
                holds(status not in (0,) or where == "elsewhere", f"it is no success ({status})")
                term.wait_all("a bug that was asked for: unheard of")
                term.wait_all("weir --resume 0197f3")
                term.restored()
    finally:
        house.end()


def returned(term):
    try:
        until("the shell is back", lambda: len(term.prompts()) > term.told, 5)
        return True
    except Failed:
        return False
