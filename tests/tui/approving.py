"""Being asked: a command, a change of a file; each answer; what the journal says of it."""

import json
import re
import time

import words
from house import House, field, holds, kind, same, until
from screen import Terminal


def asks(*commands):
    """A script that runs commands one after the other, and then is done."""
    steps = [f'calls: run_shell {{"command": "{command}"}}\n' for command in commands]
    return "\n".join(steps) + "\nsays: All done.\n"


def resolved(house, count):
    facts = house.wait_fact("approval.resolved", times=count)
    return [(field(fact, "decision"), field(fact, "by")) for fact in facts]


def audit_verifies(house):
    said = house.weir("audit", "verify")
    holds(said.startswith("intact"), f"the audit log verifies: {said}")


def f1_a_command_is_shown_whole_and_allowed_once():
    house = House("once", asks("echo one-$((40 + 2)) > made"))
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("make it")
            term.wait(words.CHOICES)
            term.wait(re.escape("echo one-$((40 + 2)) > made"))
            holds(not house.weir("checkpoints", "list").count("made"), "nothing was done yet")
            term.keys(words.ONCE)
            term.wait("All done")
            same(house.read("made"), "one-42\n", "what the command made")
            same(resolved(house, 1), [("once", "person")], "the journal")
            audit_verifies(house)
    finally:
        house.end()


def f1_for_the_session_it_does_not_ask_again():
    house = House("session", asks("echo first >> made", "echo first >> made"))
    house.script('calls: run_shell {"command": "echo a >> made"}\n\n'
                 'calls: run_shell {"command": "echo a >> made "}\n\nsays: All done.\n')
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("make it")
            term.wait(words.CHOICES)
            term.keys(words.SESSION)
            term.wait("All done")
            same(house.read("made"), "a\na\n", "what both commands made")
            same(resolved(house, 1), [("session", "person")], "the journal")
    finally:
        house.end()


def f1_always_keeps_the_rule_that_was_shown():
    house = House("always", asks("mkdir -p made"))
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("look")
            term.wait(words.CHOICES)
            shown = term.wait(r"Shell\([^)\n]*\)").group(0)
            term.keys(words.ALWAYS)
            term.wait("All done")
            same(resolved(house, 1), [("always", "person")], "the journal")
            holds(shown in house.weir("permissions", "list"), f"the rule {shown} is kept")
        # Another session in another terminal is not asked.
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("look")
            term.wait("All done")
            holds("approval.requested" not in house.kinds(), "it is not asked again")
    finally:
        house.end()


def f1_denied_with_a_reason_that_the_model_reads():
    script = ('calls: run_shell {"command": "touch made"}\n\n'
              'expect: result "not on a Friday"\nsays: I understand.\n')
    house = House("deny", script)
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("make it")
            term.wait(words.CHOICES)
            term.keys(words.DENY)
            term.wait(words.WHY_NOT)
            term.say("not on a Friday")
            term.wait("I understand")
            facts = house.wait_fact("approval.resolved")
            same(field(facts[0], "decision"), "deny", "the journal")
            same(field(facts[0], "reason"), "not on a Friday", "the reason")
            holds("made" not in house.weir("checkpoints", "list"), "nothing was made")
    finally:
        house.end()


def f1_a_change_is_shown_as_a_difference_and_made():
    script = ('calls: edit_file {"path": "notes.md", "old_text": "colour: red", '
              '"new_text": "colour: blue"}\n\nsays: All done.\n')
    house = House("diff", script, files={"notes.md": "a note\ncolour: red\nthe end\n"})
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("blue, please")
            term.wait(words.CHOICES)
            term.wait(r"notes\.md")
            term.wait(r"-\s*colour: red")
            term.wait(r"\+\s*colour: blue")
            same(house.read("notes.md"), "a note\ncolour: red\nthe end\n", "the file before")
            term.keys(words.ONCE)
            term.wait("All done")
            same(house.read("notes.md"), "a note\ncolour: blue\nthe end\n", "the file after")
            holds("checkpoint.taken" in house.kinds(), "it was saved before")
    finally:
        house.end()


def f1_a_long_difference_can_be_read_to_its_end():
    after = "".join(f"line {n} is new\n" for n in range(1, 201))
    call = {"path": "long.txt", "content": after}
    house = House("long", f"calls: write_file {json.dumps(call)}\n\nsays: All done.\n")
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("write it")
            term.wait(words.CHOICES)
            term.wait("line 1 is new")
            holds(not term.has("line 200 is new"), "it does not fit on the screen")
            term.keys(words.SHOW_ALL)
            term.gone(words.ASKED)
            term.keys("End")
            term.wait("line 200 is new")
            term.keys("Escape")
            term.wait(words.CHOICES)
            holds("approval.resolved" not in house.kinds(), "reading answers nothing")
            term.keys(words.ONCE)
            term.wait("All done")
            same(house.read("long.txt"), after, "the file")
    finally:
        house.end()


def f1_a_key_that_was_typed_before_the_question_answers_nothing():
    script = ('pace: 500ms\nsays: ' + " ".join(f"w{n}" for n in range(20)) +
              '\ncalls: run_shell {"command": "touch made"}\n\nsays: All done.\n')
    house = House("early", script)
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("make it")
            term.wait(r"\bw3\b")
            term.type(words.ONCE + "es and " + words.ALWAYS)
            term.wait(words.ASKED)
            facts = house.facts()
            holds("approval.resolved" not in [kind(fact) for fact in facts], "nothing is answered")
            # A key later it is still the box that has the keys, until one asks for the question.
            term.type(words.ALWAYS)
            term.keys(words.NEXT_MODE)
            term.wait(words.CHOICES)
            holds("approval.resolved" not in house.kinds(), "nothing is answered yet")
            term.keys(words.DENY)
            term.wait(words.WHY_NOT)
            term.keys("Enter")
            facts = house.wait_fact("approval.resolved")
            same(field(facts[0], "decision"), "deny", "the journal")
    finally:
        house.end()


def f1_an_answer_from_elsewhere_closes_the_dialog():
    house = House("elsewhere", asks("echo x > made"))
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("make it")
            term.wait(words.CHOICES)
            facts = house.wait_fact("approval.requested")
            house.weir("approvals", "answer", field(facts[0], "approval"), "once")
            term.wait("All done")
            same(house.read("made"), "x\n", "what the command made")
    finally:
        house.end()


def f1_a_question_is_answered_by_choosing_and_in_own_words():
    script = ('calls: ask_followup_question {"question": "Which colour?", '
              '"options": ["red", "blue"]}\n\nexpect: result "blue"\n'
              'calls: ask_followup_question {"question": "How deep?"}\n\n'
              'expect: result "as the sea"\nsays: All done.\n')
    house = House("question", script)
    try:
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say("paint")
            term.wait(r"Which colour\?")
            term.wait(words.QUESTION)
            term.keys("Down", "Enter")
            term.wait(r"(?s)How deep\?.*" + words.QUESTION)
            term.say("as the sea")
            term.wait("All done")
            answers = [field(fact, "answer") for fact in house.facts()
                       if kind(fact) == "question.answered"]
            same(answers, ["blue", "as the sea"], "the journal")
    finally:
        house.end()


def f1_v_q_y_pressed_quickly_answer_and_nothing_lands_in_the_box():
    for pause in (0.03, 0.15, 0.4):
        house = House("vqy", 'calls: write_file {"path": "made", "content": "x\\n"}\n\n'
                      "says: All done.\n")
        try:
            with Terminal(house) as term:
                term.start(ready=words.READY)
                term.say("make it")
                term.wait(words.CHOICES)
                for key in ("v", "q", "y"):
                    term.keys(key)
                    time.sleep(pause)
                # Whether the yes counted or came too soon: no letter stands in the box.
                time.sleep(0.7)
                holds(not term.has(r"(?m)^ ?> [vqy]"), f"the box is empty after {pause} s")
                until("it is answered, or takes an answer",
                      lambda: "approval.resolved" in house.kinds() or term.has(words.CHOICES))
                if "approval.resolved" not in house.kinds():
                    term.keys("y")
                term.wait("All done")
                same(house.read("made"), "x\n", "what was made")
                said = [fact for fact in house.facts() if kind(fact) == "input.accepted"]
                same(len(said), 1, "messages")
        finally:
            house.end()
