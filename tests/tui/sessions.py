"""Sessions: choosing one, taking one up, going back in one, and what a killed program leaves."""

import os
import re
import signal
import sqlite3

import words
from house import House, PATIENCE, field, holds, kind, same, until
from screen import Terminal


def said_before(house, text):
    """A session that another program had."""
    house.weir("run", "--quiet", text)


def f1_a_session_is_found_and_taken_up_from_the_picker():
    house = House("picker", script="says: Yes.\n\nsays: Still yes.\n")
    try:
        for text in ("about the harbour", "about the mountain", "about the forest"):
            said_before(house, text)
        wanted = [one for one in house.sessions() if "mountain" in str(one)][0]
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("/resume")
            term.wait("about the harbour")
            term.wait("about the forest")
            term.type("mountain")
            term.gone("about the harbour")
            term.wait("about the mountain")
            term.keys("Enter")
            term.wait(r"(?s)about the mountain.*Yes\.")
            term.say("and now")
            term.wait("Still yes")
            inputs = [fact for fact in house.facts(wanted["id"]) if kind(fact) == "input.accepted"]
            same(len(inputs), 2, "what was said in that session")
    finally:
        house.end()


def f1_resume_and_continue_show_what_was_and_go_on():
    house = House("resume", script="says: Yes.\n\nsays: Still yes.\n\nsays: For ever.\n")
    try:
        said_before(house, "about the harbour")
        name = house.session()
        with Terminal(house) as term:
            term.start("--resume", name[:8], ready="about the harbour")
            term.wait(r"Yes\.")
            term.say("go on")
            term.wait("Still yes")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
        with Terminal(house) as term:
            term.start("--continue", ready="Still yes")
            term.say("and on")
            term.wait("For ever")
            same(len(house.sessions()), 1, "sessions")
        with Terminal(house) as term:
            term.start("--resume", "ffffffff")
            holds(term.status() != 0, "a session that is not there is an error")
            term.wait("(?i)weir sessions list|no session")
            term.restored()
    finally:
        house.end()


def begins_late(house, session):
    """Whether a place is kept at which a terminal begins to show this session."""
    path = os.path.join(house.folder, "state", "weir", "weir.db")
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE)
    try:
        wanted = "SELECT count(*) FROM looks WHERE session = ? AND kind = 'terminal'"
        return store.execute(wanted, (session,)).fetchone()[0]
    finally:
        store.close()


def entries_told(term):
    """How many entries the conversation has on the screen; 0 where it is not there."""
    found = re.search(r"(?m)^Conversation .*/(\d+)\+?$", term.screen())
    return int(found.group(1)) if found else 0


def f1_a_long_session_is_read_upwards_a_part_at_a_time():
    runs = 400
    answers = "".join(f"says: Answer {n}.\n\n" for n in range(1, runs + 1))
    house = House("long", script=answers + "says: Heard.\n")
    try:
        house.weir("--plain", input="".join(f"question {n}\n" for n in range(1, runs + 1)).encode())
        name = house.session()
        # The first look reads all of it, and keeps a place for the next.
        with Terminal(house) as term:
            term.start("--resume", name, ready=rf"Answer {runs}\.")
            until("a place is kept", lambda: begins_late(house, name))
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
        with Terminal(house) as term:
            term.start("--resume", name, ready=rf"Answer {runs}\.")
            term.wait(words.READY)
            term.keys(words.TRANSCRIPT)
            term.wait(r"(?m)^Conversation .*/\d+\+$")
            first = entries_told(term)
            holds(400 <= first < 3 * runs, f"it begins near its end: {first} entries")
            # Page by page into the part before what is there.
            term.tmux("send-keys", "-N", "200", "PPage")
            until("a part comes in", lambda: entries_told(term) > first)
            # All the way up, and back to say something.
            term.keys("Home")
            term.wait(r"(?s)> question 1\n.*Answer 1\.")
            term.wait(r"(?m)^Conversation +1/\d+$")
            holds(entries_told(term) >= 3 * runs, "everything is there")
            holds(not term.has("earlier entries"), "nothing is left above")
            term.keys("q")
            term.wait(words.READY)
            term.say("and now")
            term.wait(r"Heard\.")
    finally:
        house.end()


def f1_going_back_shows_what_it_would_change_and_changes_it():
    script = """when: "three"
says: It is three.
end

when: "two"
calls: write_file {"path": "notes.md", "content": "two\\n"}

says: It is two.
end

when: "one"
calls: write_file {"path": "notes.md", "content": "one\\n"}

says: It is one.
end
"""
    house = House("rewind", script, files={"notes.md": "zero\n"}, permission="auto-edit")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("make it one")
            term.wait("It is one")
            term.gone(words.BUSY)
            term.say("make it two")
            term.wait("It is two")
            term.gone(words.BUSY)
            same(house.read("notes.md"), "two\n", "the file")
            first = house.session()
            term.keys("Escape", "Escape")
            term.wait("Go back to before which message")
            term.wait(r"(?s)make it two.*make it one")
            # The newest is chosen; its preview shows what would change.
            term.keys("Enter")
            term.wait(r"-\s*two")
            term.wait(r"\+\s*one")
            same(house.read("notes.md"), "two\n", "the file, after looking only")
            term.wait(words.BACK_BOTH)
            term.keys("b")
            until("the file is back", lambda: house.read("notes.md") == "one\n")
            # Another session holds the conversation, and the words are in the box again.
            term.wait("A copy of session")
            term.wait(r"> make it two\n.*auto-edit ·")
            term.keys(words.WIPE)
            term.gone("> make it two")
            term.say("make it three")
            term.wait("It is three")
            holds(house.session() != first, "the conversation goes on in a copy")
            inputs = [field(fact, "content")[0]["text"] for fact in house.facts()
                      if kind(fact) == "input.accepted"]
            same(inputs, ["make it one", "make it three"], "what was said in it")
    finally:
        house.end()


def f1_killed_in_a_stream_the_session_is_taken_up():
    script = ('when: "on with it"\nsays: I am back.\nend\n\npace: 100ms\nsays: '
              + " ".join(f"w{n}" for n in range(200)) + "\n")
    house = House("kill", script)
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("count")
            term.wait(r"\bw5\b")
            os.kill(term.pid(), signal.SIGKILL)
            same(term.status(), 137, "the exit status")
            name = house.session()
        with Terminal(house) as term:
            term.start("--resume", name, ready="count")
            term.wait(words.READY)
            # What was interrupted goes on by itself or is said to be so; either way one can talk.
            if term.has(words.BUSY):
                term.wait(r"\bw3\b")
                term.keys(words.INTERRUPT)
                term.gone(words.BUSY)
            term.say("on with it")
            term.wait("I am back")
            same(len(house.sessions()), 1, "sessions")
    finally:
        house.end()


def begun(house, term):
    """A command runs, and has written that it does."""
    term.start(ready=words.READY)
    term.say("do it")
    until("the command runs", lambda: os.path.exists(os.path.join(house.work, "made")))


def crashed(house, pids):
    """SIGKILL, to all of them at once: nobody hears that another one has gone."""
    held = [(pid, signal.SIGSTOP) for pid in pids[1:]]
    for pid, number in held + [(pid, signal.SIGKILL) for pid in pids]:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            # It ended with one that was killed before.
            pass
    until("the command is gone",
          lambda: not [1 for _, line in house.processes() if "sleep 1000" in line])


BEGUN = ('calls: run_shell {"command": "echo begun > made; sleep 1000"}\n\n'
         'says: What became of it?\n\nsays: I am back.\n')


def f1_killed_in_a_command_its_outcome_is_told():
    house = House("known", BEGUN, permission="full")
    try:
        with Terminal(house) as term:
            begun(house, term)
            crashed(house, [term.pid()])
            same(term.status(), 137, "the exit status")
        with Terminal(house) as term:
            term.start("--resume", house.session(), ready="do it")
            term.wait("What became of it")
            term.wait("ran in part")
            holds("call.finished" in house.kinds(), "the journal says what was found out")
            term.say("and now")
            term.wait("I am back")
    finally:
        house.end()


def f1_when_all_is_killed_in_a_command_its_outcome_is_unknown_and_said_to_be():
    house = House("unknown", BEGUN, permission="full")
    try:
        with Terminal(house) as term:
            begun(house, term)
            # The machine fails: whoever could tell how the command ended is gone too.
            crashed(house, everything(house, term))
            same(term.status(), 137, "the exit status")
        with Terminal(house) as term:
            term.start("--resume", house.session(), ready="do it")
            term.wait("Outcome unknown")
            holds("call.unknown" in house.kinds(), "the journal says so")
            term.wait("What became of it")
            term.say("and now")
            term.wait("I am back")
    finally:
        house.end()


def everything(house, term):
    """All processes of the house but the shell of the terminal, the program first."""
    pid = term.pid()
    shell = term.shell()
    return [pid] + [one for one, _ in house.processes() if one not in (pid, shell)]


def f1_the_kill_switch_stops_a_run_and_is_shown():
    script = ('pace: 100ms\nsays: ' + " ".join(f"w{n}" for n in range(200)) + "\n")
    house = House("pause", script)
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("count")
            term.wait(r"\bw5\b")
            house.weir("pause", "looking into it")
            done = house.wait_fact("run.finished")
            same(field(done[0], "status"), "paused", "the status of the run")
            term.wait("(?i)paused|kill switch")
            house.weir("release")
            house.script("says: It goes on.\n\nsays: It goes on.\n")
    finally:
        house.end()


def f1_an_error_of_the_provider_says_what_to_do():
    script = 'error: 401 "bad key"\n'
    house = House("error", script)
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("hello")
            done = house.wait_fact("run.finished")
            same(field(done[0], "status"), "failed", "the status of the run")
            term.wait("(?i)key|401")
            term.gone(words.BUSY)
            term.wait(words.READY)
    finally:
        house.end()
