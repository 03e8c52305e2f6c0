"""Talking: an answer that streams, being interrupted, saying something meanwhile, other sizes."""

import re
import time

import words
from house import House, field, holds, kind, same, ticks, until
from screen import Terminal

# Ends a word list: thirty words, of which the last one is seen only when all came.
COUNTED = " ".join(f"word{n}" for n in range(1, 41))


def f1_an_answer_streams_and_stands_once_in_the_scrollback():
    house = House("stream", script=f"pace: 150ms\nsays: {COUNTED}\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("count")
            term.wait(r"\bword5\b")
            holds(not term.has(r"\bword40\b"), "the answer is shown while it comes")
            term.wait(r"\bword40\b")
            term.gone(words.BUSY)
            for word in ("word1", "word20", "word40"):
                found = re.findall(rf"\b{word}\b", term.scrollback())
                same(len(found), 1, f"how often {word} stands in the scrollback")
            same(len(re.findall(r"\bcount\b", term.scrollback())), 1, "how often the question does")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
            term.wait(rf"weir --resume {house.session()[:8]}")
            term.restored()
            term.nothing_left()
    finally:
        house.end()


def f1_interrupted_in_a_stream_the_session_goes_on():
    script = f"""when: "again"
says: I am here again.
end

pace: 500ms
says: {COUNTED}
"""
    house = House("interrupt", script)
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("count")
            term.wait(r"\bword5\b")
            term.keys(words.INTERRUPT)
            done = house.wait_fact("run.finished")
            same(field(done[0], "status"), "cancelled", "the status of the run")
            term.gone(words.BUSY)
            holds(not term.has(r"\bword40\b"), "the rest does not come")
            term.say("and again")
            term.wait("I am here again")
            house.wait_fact("run.finished", times=2)
    finally:
        house.end()


def f1_interrupted_in_a_tool_no_process_is_left():
    script = """says: I wait.
calls: run_shell {"command": "sleep 1000"}

says: I am here again.
"""
    house = House("tool", script, permission="full")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("wait")
            house.wait_fact("call.started")
            until("the command runs", lambda: sleeping(house))
            term.keys(words.INTERRUPT)
            house.wait_fact("run.finished")
            until("the command is gone", lambda: not sleeping(house))
            term.say("and again")
            term.wait("I am here again")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
            term.nothing_left()
    finally:
        house.end()


def sleeping(house):
    return [words for _, words in house.processes() if "sleep 1000" in words]


def f1_interrupted_in_an_approval_the_session_goes_on():
    script = """calls: run_shell {"command": "touch made"}

says: I am here again.
"""
    house = House("approval", script)
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("make it")
            term.wait(words.CHOICES)
            term.keys(words.INTERRUPT)
            done = house.wait_fact("run.finished")
            same(field(done[0], "status"), "cancelled", "the status of the run")
            resolved = house.wait_fact("approval.resolved")
            same(field(resolved[0], "decision"), "cancelled", "what became of the approval")
            term.gone(words.ASKED)
            term.say("and again")
            term.wait("I am here again")
    finally:
        house.end()


def f1_what_is_typed_while_it_runs_is_queued_delivered_and_can_be_taken_back():
    # The tool gives the run a second turn, in which the queued words are delivered. It waits until the
    # person has said everything, however long that takes.
    script = f"""pace: 60ms
says: {COUNTED}
calls: run_shell {{"command": "until [ -e said ]; do sleep 0.1; done"}}

expect: "the second thing"
expect-not: "not this"
says: I heard the second thing.
"""
    house = House("queue", script, permission="full")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("the first thing")
            term.wait(r"\bword3\b")
            term.say("the second thing")
            term.wait(r"(?i)queued")
            term.say("not this")
            house.wait_fact("input.accepted", times=3)
            # The newest comes back into the box, and is thrown away there.
            term.keys("Up")
            house.wait_fact("input.withdrawn")
            term.keys(words.WIPE)
            house.write("said", "")
            term.wait("I heard the second thing")
            term.gone(words.BUSY)
            facts = house.facts()
            turns = [field(fact, "inputs") for fact in facts
                     if kind(fact) == "turn.started" and fact.get("inputs")]
            same(len(turns), 2, "turns with an input")
            same(len([fact for fact in facts if kind(fact) == "run.finished"]), 1, "runs")
    finally:
        house.end()


def f1_a_resize_while_it_streams_loses_nothing():
    # In paragraphs, as people and models write: what is finished is not touched again.
    rows = [" ".join(f"n{n:03}" for n in range(start, start + 20)) for start in range(1, 301, 20)]
    text = " \n\n  ".join(rows)
    house = House("resize", script=f"pace: 15ms\nsays: |\n  {text}\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("count")
            # In the middle of paragraphs: what is written between a resize and the word of it to the
            # program is wrapped by the terminal, and its end may be painted over.
            term.wait(r"\bn026\b")
            term.resize(40, 12)
            term.wait(r"\bn110\b")
            term.resize(120, 40)
            term.wait(r"\bn206\b")
            term.resize(80, 24)
            term.wait(r"\bn300\b")
            term.gone(words.BUSY)
            shown = re.findall(r"\bn\d{3}\b", term.scrollback())
            missing = [f"n{n:03}" for n in range(1, 301) if f"n{n:03}" not in shown]
            same(missing, [], "words that are lost")
            # What was not finished yet may stand there once more, as it was when the window changed.
            holds(len(shown) <= 360, f"little stands there twice ({len(shown)} of 300)")
            return f"{len(shown) - 300} words of 300 stand twice after three resizes"
    finally:
        house.end()


def f1_small_windows_do():
    house = House("small", script="says: Something that is longer than the window is wide, surely.\n")
    try:
        for size in ((40, 12), (20, 5), (10, 3), (3, 2), (1, 1)):
            with Terminal(house) as term:
                term.resize(*size)
                term.start()
                pid = term.pid()
                term.resize(80, 24)
                # tmux may take its time to tell the program.
                term.wait(words.READY_WIDE)
                term.say("say it")
                term.wait("longer than the window")
                term.wait(words.DONE)
                term.resize(*size)
                term.resize(80, 24)
                term.wait(words.READY_WIDE)
                same(term.pid(), pid, f"the process that began at {size}")
    finally:
        house.end()


def f1_idle_it_uses_no_processor_time():
    house = House("idle", script="says: Done.\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("one thing")
            term.wait("Done")
            term.gone(words.BUSY)
            pid = term.pid()
            still(pid)
            # Threads that wait for more to read end seconds later: that is no work that goes on.
            spans = []
            while len(spans) < 4 and 0 not in spans:
                before = ticks(pid)
                watch(5.0)
                spans.append(ticks(pid) - before)
            holds(0 in spans, f"5 s without a tick of processor time, where nothing is to do: {spans}")
            return f"{spans[-1]} ticks in 5 s"
    finally:
        house.end()


f1_idle_it_uses_no_processor_time.alone = True


def still(pid):
    """Waits until a process did nothing for half a second: what a run leaves to do is done."""
    last = [ticks(pid), time.monotonic()]

    def look():
        now = ticks(pid)
        if now != last[0]:
            last[:] = [now, time.monotonic()]
        return time.monotonic() - last[1] > 0.5
    until("the process rests", look)


def watch(seconds):
    """What is measured is a time in which nothing happens: the one place where a test sleeps."""
    time.sleep(seconds)


def l12_what_waits_comes_back_when_the_run_is_ended_elsewhere():
    words_ = " ".join(f"word{n}" for n in range(200))
    house = House("given-back", f"pace: 200ms\nsays: {words_}\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("begin")
            term.wait(r"\bword3\b")
            term.say("and then the docs")
            term.say("and the tests")
            house.wait_fact("input.accepted", times=3)
            term.type("half a th")
            house.weir("pause")
            term.wait(words.DONE)
            # What was said stays and is marked; what waited is before what is being written.
            term.wait("Cut off here: the run was ended")
            term.wait(r"> and then the docs\n\s*and the tests\n\s*half a th")
            holds(term.has(r"\bword3\b"), "the words stay")
            kinds = house.kinds()
            same(kinds.count("input.withdrawn"), 2, "what waited is withdrawn")
            house.weir("release")
    finally:
        house.end()
