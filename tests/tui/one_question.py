"""One question about several steps of a program (U8): its lines, and keys that are pressed fast, slowly and
by mistake. Not here: what holds for every question (`approving`)."""

import json
import os
import re
import time

import words
from house import Failed, House, field, holds, kind, same, until
from screen import Terminal, hurried

# A server that says it sent what it was given.
POST = r"""while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"post","version":"1"}}' ;;
  *'"tools/list"'*) r='{"tools":[{"name":"send","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}}}}]}' ;;
  *'"tools/call"'*) r='{"content":[{"type":"text","text":"sent"}]}' ;;
  *) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"""
SETTINGS = """[mcp_servers.post]
command = "sh"
args = ["post.sh"]
hosts = ["post.example"]
[mcp_servers.post.tools.send]
sends = { to = ["to"], content = ["text"] }
"""
# The words of the person, and what the program does for them.
TOLD = "Tell ada@x.example and Bob that we meet at ten, and note whom you told."
TELL = """const tell = to => mcp__post__send({ to, text: 'We meet at ten.' });
const all = await Promise.allSettled([tell('ada@x.example'), write_file({ path: 'told.md', content: 'ada, bob\\n' }), tell('bob@x.example')]);
return all.map(one => one.status).join();"""


def writes(count):
    """A program that writes so many files at once."""
    return (f"await Promise.all(Array.from({{ length: {count} }}, (_, n) => "
            "write_file({ path: `part-${n + 1}.txt`, content: `part ${n + 1}` })));\nreturn 'all';")


def script(code):
    call = json.dumps({"tool": "run_program", "arguments": {"code": code}})
    return f'calls: find_tool {{"query": "run_program"}}\n\ncalls: call_tool {call}\n\nsays: All done.\n'


def with_post(house):
    """The house gets the server and the script that sends by it."""
    house.write("post.sh", POST)
    house.script(script(TELL))
    house.weir("mcp-servers", "approve", "post", "--yes")


def parts(house):
    return [name for name in os.listdir(house.work) if name.startswith("part-")]


def answers(house):
    facts = [fact for fact in house.facts() if kind(fact) == "approval.resolved"]
    return [field(fact, "decision") for fact in facts]


def asked(house, term, code, said="write them", wait=words.CHOICES):
    house.script(script(code))
    term.start(ready=words.READY)
    term.say(said)
    term.wait(wait)


def takes_keys_again(term):
    """The box is wiped, and the question takes keys after that: what stood there before says nothing of it."""
    term.type("x")
    term.wait(r"(?m)^ ?> .*x$")
    term.keys(words.WIPE)
    term.wait(words.CHOICES)


def u08_each_line_names_whom_it_reaches_and_one_yes_lets_all_of_them_happen():
    house = House("one-question", config=SETTINGS)
    try:
        with_post(house)
        with Terminal(house) as term:
            term.start(ready=words.READY)
            term.say(TOLD)
            term.wait(words.CHOICES)
            shown = re.sub(r"\s+", " ", term.screen())
            for line in ("3 steps of one program", "1. mcp__post__send → ada@x.example (you wrote it): ",
                         "2. write_file: Create told.md",
                         "3. mcp__post__send → bob@x.example (the agent chose it): "):
                holds(line in shown, f"{line!r} is in sight: {shown}")
            holds(not term.has("s this session|a always"), f"what lasts is not offered: {shown}")
            same(answers(house), [], "the answers before a key is pressed")
            term.keys(words.ONCE)
            term.wait("All done")
            same(answers(house), ["once"], "the answers")
            same(house.read("told.md"), "ada, bob\n", "the file")
            done = [field(fact, "tool") for fact in house.facts()
                    if kind(fact) == "call.finished" and field(fact, "ok")]
            same(done.count("mcp__post__send"), 2, f"what was sent: {done}")
    finally:
        house.end()


def u08_keys_for_answers_that_last_answer_nothing():
    for key in (words.SESSION, words.ALWAYS, "2", "3"):
        house = House("lasting")
        try:
            with Terminal(house) as term:
                asked(house, term, writes(3))
                term.keys(key)
                time.sleep(0.7)
                same((answers(house), parts(house)), ([], []), f"answers and files after {key}")
                # The letter went into the box, as any that the question does not know.
                takes_keys_again(term)
                term.keys(words.ONCE)
                term.wait("All done")
                same((answers(house), len(parts(house))), (["once"], 3), "answers and files")
        finally:
            house.end()


def u08_enter_and_other_keys_answer_nothing():
    house = House("mistakes")
    try:
        with Terminal(house) as term:
            asked(house, term, writes(3))
            for key in ("Enter", "Enter", "Space", "Down", "Up", "PPage", "NPage", "M-y", "C-y", "BSpace"):
                term.keys(key)
                time.sleep(0.1)
            time.sleep(0.7)
            same((answers(house), parts(house)), ([], []), "answers and files")
            said = [fact for fact in house.facts() if kind(fact) == "input.accepted"]
            same(len(said), 1, "messages")
            takes_keys_again(term)
            term.keys(words.DENY)
            term.wait(words.WHY_NOT)
            term.keys("Enter")
            term.wait("All done|Failed")
            same((answers(house), parts(house)), (["deny"], []), "answers and files")
    finally:
        house.end()


def u08_a_yes_that_is_pressed_before_it_can_be_read_answers_nothing():
    for pause in (0.0, 0.05, 0.2):
        if not any(pressed_at_once(pause) for _ in range(10)):
            raise Failed(f"no try was quick enough to come before it can be read, pause {pause}")


def pressed_at_once(pause):
    """Whether each yes came before it counts; then none did, and a later one does."""
    house = House("fast")
    try:
        with Terminal(house) as term:
            unasked = [0.0]

            def is_asked():
                now = time.monotonic()
                if term.has(words.ASKED):
                    return True
                unasked[0] = now
                return False
            house.script(script(writes(3)))
            term.start(ready=words.READY)
            term.say("write them")
            until("it is asked", is_asked)
            presses = [lambda: term.keys(words.ONCE)] * 6
            if hurried(presses, pause, since=unasked[0]) >= words.QUIET:
                return False
            same((answers(house), parts(house)), ([], []), f"answers and files, pause {pause}")
            takes_keys_again(term)
            time.sleep(2)
            # Slowly it counts, once.
            term.keys(words.ONCE)
            term.wait("All done")
            same((answers(house), len(parts(house))), (["once"], 3), "answers and files")
            return True
    finally:
        house.end()


def u08_a_no_with_its_reason_is_a_no_to_all_of_them():
    house = House("no")
    try:
        with Terminal(house) as term:
            asked(house, term, writes(3))
            term.keys(words.DENY)
            term.wait(words.WHY_NOT)
            # A yes in the reason is a letter of it.
            term.keys("Escape")
            term.wait(words.CHOICES)
            same(answers(house), [], "the answers after a reason that was left")
            term.keys(words.DENY)
            term.wait(words.WHY_NOT)
            term.say("y, but not on a Friday")
            term.wait("All done")
            facts = house.wait_fact("approval.resolved")
            same([(field(fact, "decision"), field(fact, "reason")) for fact in facts],
                 [("deny", "y, but not on a Friday")], "the answers")
            same(parts(house), [], "files")
            heard = [field(fact, "summary") for fact in house.facts() if kind(fact) == "call.finished"
                     and field(fact, "tool") == "write_file"]
            same(heard, ["Denied by person: y, but not on a Friday"] * 3, "what each step hears")
    finally:
        house.end()


def u08_escape_is_no_answer_and_does_nothing_of_it():
    house = House("escape")
    try:
        with Terminal(house) as term:
            asked(house, term, writes(3))
            term.keys("Escape")
            term.wait("─ You stopped it")
            same((answers(house), parts(house)), (["cancelled"], []), "answers and files")
            # Escape and a yes behind it, as one motion: the yes answers nothing later either.
            term.keys(words.ONCE)
            time.sleep(0.5)
            same((answers(house), parts(house)), (["cancelled"], []), "answers and files")
    finally:
        house.end()


def u08_many_steps_in_a_small_terminal_want_to_be_opened_before_a_yes():
    for size in ((60, 16), (40, 12)):
        house = House("small")
        try:
            with Terminal(house, size=size) as term:
                asked(house, term, writes(30), wait=r"(?s)Allow this\?.*v (show )?all")
                term.wait("Too little room: v shows it")
                holds(not term.has(r"y yes"), "a yes is not offered")
                for _ in range(3):
                    term.keys(words.ONCE)
                    time.sleep(0.2)
                term.keys("Enter")
                time.sleep(0.7)
                same((answers(house), parts(house)), ([], []), f"answers and files at {size}")
                term.wait(r"(?s)Allow this\?.*n no")
                term.keys(words.SHOW_ALL)
                term.gone(words.ASKED)
                term.wait("30 steps of one program")
                # A yes in the pager is none.
                term.keys(words.ONCE)
                term.keys("End")
                term.wait("part 30")
                time.sleep(0.3)
                same((answers(house), parts(house)), ([], []), "reading answers nothing")
                term.keys("q")
                term.wait(words.CHOICES)
                time.sleep(0.6)
                term.keys(words.ONCE)
                term.wait_all("All done")
                same((answers(house), len(parts(house))), (["once"], 30), "answers and files")
        finally:
            house.end()


def u08_a_terminal_that_becomes_small_takes_no_yes_to_lines_that_left_it():
    house = House("resized")
    try:
        with Terminal(house, size=(100, 50)) as term:
            asked(house, term, writes(30))
            for n in (1, 15, 30):
                holds(term.has(rf"(?m)^{n}\. write_file: Create part-{n}\.txt"), f"line {n} is in sight")
            term.resize(60, 16)
            term.wait("Too little room: v shows it")
            term.keys(words.ONCE)
            time.sleep(0.7)
            same((answers(house), parts(house)), ([], []), "answers and files")
            term.resize(100, 50)
            takes_keys_again(term)
            # A yes right behind another key, or to lines that were just painted, is none.
            time.sleep(1.5)
            term.keys(words.ONCE)
            term.wait("All done")
            same((answers(house), len(parts(house))), (["once"], 30), "answers and files")
    finally:
        house.end()


def u08_at_the_terminal_of_a_run_only_a_yes_is_one():
    for typed, wanted in (("", "deny"), ("s", "deny"), ("y", "once")):
        house = House("run", config=SETTINGS)
        try:
            with_post(house)
            with Terminal(house, size=(100, 60)) as term:
                term.start("run", TOLD)
                term.wait(r"\[y\] all of these steps, once  \[n reason\] none of them")
                for line in ("1. mcp__post__send → ada@x.example (you wrote it)",
                             "3. mcp__post__send → bob@x.example (the agent chose it)"):
                    holds(line in term.screen(), f"{line!r} is in sight: {term.screen()}")
                term.type(typed)
                term.keys("Enter")
                same(term.status(), 0, "the exit status")
                same(answers(house), [wanted], f"the answers after {typed!r}")
                same(os.path.exists(os.path.join(house.work, "told.md")), wanted == "once", "the file is there")
        finally:
            house.end()


def u08_in_line_mode_an_empty_line_answers_nothing():
    house = House("plain", config=SETTINGS)
    try:
        with_post(house)
        with Terminal(house, size=(100, 60)) as term:
            term.start("--plain", ready=r"(?m)^> *$")
            term.say(TOLD)
            term.wait(r"Type: once / no REASON")
            for line in ("1. mcp__post__send → ada@x.example (you wrote it)",
                         "3. mcp__post__send → bob@x.example (the agent chose it)"):
                holds(line in term.screen(), f"{line!r} is in sight: {term.screen()}")
            term.keys("Enter")
            term.wait("nothing was typed")
            same(answers(house), [], "the answers after an empty line")
            term.type("no enough told")
            term.keys("Enter")
            term.wait("All done")
            same(answers(house), ["deny"], "the answers")
            holds(not os.path.exists(os.path.join(house.work, "told.md")), "no file was made")
    finally:
        house.end()
