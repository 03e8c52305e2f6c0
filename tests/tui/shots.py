"""Every state of the face as a frame: what stood on the screen, in a file. With WEIR_TUI_SHOTS the
files are written, with a recorded session and a picture; without it they are compared.

Not here: whether what stands there is right; the other tests say that."""

import difflib
import os
import re
import time

import deciding as decisions
import picture
import sessions
import words
from house import Failed, House, holds, until
from one_question import SETTINGS, TOLD, with_post
from screen import Terminal

ROOT = os.environ["WEIR_ROOT"]
KEPT = os.environ.get("WEIR_TUI_SHOTS")
FOLDER = KEPT or os.path.join(ROOT, "docs/tui")
PICTURE = "docs/screens/tui.png"

# What differs from run to run, and what stands for it; as long as it was, where that is told by a
# line's layout. The first that fits counts.
CHANGING = (
    (r"\b[0-9a-f]{32}\b", "0123456789abcdef0123456789abcdef"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "01234567-…"),
    (r"\b[0-9a-f]{8,12}\b(?=[^\n]*$)", "01234567"),
    (r"/tmp/weir-tui-[\w-]+", "/tmp/folder"),
    (r"\b\d+(\.\d+)? ms\b", "12 ms"),
    (r"\b\d+(\.\d+)? s\b", "2 s"),
    (r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?Z?\b", "2026-01-31 12:00"),
    (r"\b\d\d:\d\d(:\d\d)?\b", "12:00"),
    (r"\b(just now|\d+ minutes? ago)\b", "just now"),
    (r"[⠀-⣿◐◓◑◒]", "⠿"),
    (r"\b\d+(\.\d+)?k?(?= tokens)", "1.0k"),
    (r"context \d+(\.\d+)?k?%?", "context 7%"),
    (r"cache \d+%", "cache 0%"),
)


def normal(text):
    for pattern, instead in CHANGING:
        text = re.sub(pattern, instead, text)
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


def settled(term):
    """The frame, once it stands still but for what always moves."""
    last = [None]

    def look():
        now = normal(term.screen())
        same_as_before, last[0] = now == last[0], now
        return same_as_before and now
    return until("the screen stands still", look)


def frame(name, term, **about):
    size = about.get("size", (80, 24))
    text = settled(term)
    path = os.path.join(FOLDER, f"{name}.txt")
    rule = "─" * size[0]
    whole = f"{about['says']}\n{rule}\n{text}{rule}\n"
    if KEPT:
        os.makedirs(FOLDER, exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(whole)
        return
    if not os.path.exists(path):
        raise Failed(f"{path} is missing: WEIR_TUI_SHOTS=docs/tui tests/tui/run.sh frames")
    with open(path, encoding="utf-8") as file:
        kept = file.read()
    if kept != whole:
        changed = difflib.unified_diff(kept.split("\n"), whole.split("\n"), name, "now", lineterm="")
        raise Failed("\n".join(changed))


NOTES = "# Notes\n\ncolour: red\nsize: small\n"
TALK = """when: "slowly"
error: stall
says: |
  Slowly, then. The first paragraph stands already.

  The second one is on its way, {words}
end

when: "blue"
think: The note says red.
says: I change the colour.
calls: edit_file {{"path": "notes.md", "old_text": "colour: red", "new_text": "colour: blue"}}

says: It is blue now.
end

when: "tests"
says: I run them.
calls: run_shell {{"command": "printf 'running 2 tests\\\\n' | tee log; sleep 1000"}}

says: They pass.
end

when: "harbour"
calls: ask_followup_question {{"question": "Which harbour do you mean?", "options": ["the old one", "the new one"]}}

says: Then the old one.
end

when: "broken"
error: 401 "this key is not known"
end

says: |
  It holds **three** things:

  - a colour, which is `red`
  - a size
  - a title

  ```rust
  fn colour() -> &'static str {{
      "red"
  }}
  ```
""".format(words=" ".join(["word"] * 200))


def home(name, **more):
    house = House(name, TALK, files={"notes.md": NOTES}, **more)
    # A folder of its own name, so that the footer and the header are the same everywhere.
    return house


def state(says, *, script=None, size=(80, 24), photo=None, **more):
    """A decorator: the function brings the terminal to the state, whose name is its own. `photo`: where a
    picture of it is kept."""
    def made(steps):
        name = steps.__name__.replace("_", "-")

        def test():
            house = home(name, **more)
            try:
                with Terminal(house, size=size) as term:
                    begun = steps(house, term)
                    frame(name, begun or term, says=says, size=size)
                    if KEPT and photo:
                        coloured = (begun or term).coloured()
                        picture.photograph(coloured, size[0], os.path.join(ROOT, photo))
            finally:
                house.end()
        STATES[name] = test
        return steps
    return made


STATES = {}


def begin(term, **more):
    """Starts it, and waits until its session is open: the box stands there before."""
    term.start(ready=words.READY_WIDE, **more)
    term.gone(words.OPENING)


@state("The first start: no key and no model.", photo="docs/screens/tui-first.png")
def first(house, term):
    os.remove(os.path.join(house.folder, "config/weir/config.toml"))
    term.start(ready=r"Press 1 to 7")


@state("Nothing was said yet.")
def idle(_house, term):
    begin(term)
    # Of the first start, whose hint is one with the session's first line.
    term.wait(words.FIRST_HINT)


@state("After an answer.")
def answered(_house, term):
    begin(term)
    term.say("What is in notes.md?")
    term.wait('"red"')
    term.gone(words.BUSY)


@state("The model writes.")
def streaming(_house, term):
    begin(term)
    term.say("Tell me slowly")
    # The stream stops in the middle, and stays open.
    term.wait("on its way")


@state("A command runs.", permission="full")
def executing_tools(house, term):
    begin(term)
    term.say("Run the tests")
    term.wait(r"(?m)^  running 2 tests")


@state("A command waits for its yes.")
def approval_command(_house, term):
    begin(term)
    term.say("Run the tests")
    term.wait(words.CHOICES)


@state("A change waits for its yes.")
def approval_diff(_house, term):
    begin(term)
    term.say("Make it blue")
    term.wait(words.CHOICES)


@state("Several steps of a program wait for one yes.", size=(80, 30), config=SETTINGS,
       photo="docs/screens/tui-one-question.png")
def one_question(house, term):
    with_post(house)
    begin(term)
    term.say(TOLD)
    term.wait(words.CHOICES)


@state("A plugin is to be enabled: what it may do, and the question.",
       photo="docs/screens/tui-deciding.png")
def deciding(house, term):
    decisions.with_plugin(house)
    begin(term)
    term.say("/plugins enable demo")
    term.wait(decisions.ASKED)
    term.gone("being looked at")


@state("A no is given its reason.")
def approval_reason(_house, term):
    begin(term)
    term.say("Make it blue")
    term.wait(words.CHOICES)
    term.keys(words.DENY)
    term.wait(words.WHY_NOT)
    term.type("not on a Friday")
    term.wait("Friday")


@state("The agent asks a question.")
def question(_house, term):
    begin(term)
    term.say("Look at the harbour")
    term.wait("Which harbour")
    term.wait(words.QUESTION)


@state("The provider refuses.")
def provider_error(house, term):
    begin(term)
    term.say("Is it broken?")
    house.wait_fact("run.finished")
    term.gone(words.BUSY)


@state("Somebody threw the kill switch.")
def paused(house, term):
    begin(term)
    term.say("Tell me slowly")
    term.wait("The first paragraph")
    house.weir("pause", "looking into a surprise")
    house.wait_fact("run.finished")
    term.gone(words.BUSY)


@state("Taken up after everything was killed in a command.", permission="full")
def unknown_outcome(house, term):
    house.script(sessions.BEGUN)
    sessions.begun(house, term)
    sessions.crashed(house, sessions.everything(house, term))
    term.status()
    term.start("--resume", house.session())
    term.wait("What became of it")
    term.gone(words.BUSY)


@state("Sessions to choose from.")
def picker(house, term):
    for text in ("What is in notes.md?", "Which size is it?"):
        house.weir("run", "--quiet", text)
    begin(term)
    term.say("/resume")
    term.wait("Which size")
    term.wait("What is in")


@state("Going back: what it would change.", permission="auto-edit")
def rewind(house, term):
    begin(term)
    term.say("Make it blue")
    term.wait("It is blue now")
    term.gone(words.BUSY)
    term.keys("Escape", "Escape")
    term.wait("Go back to before which message")
    term.keys("Enter")
    term.wait("What should go back")
    term.wait("colour: red")


@state("The whole conversation.", permission="auto-edit")
def transcript(_house, term):
    begin(term)
    term.say("Make it blue")
    term.wait("It is blue now")
    term.gone(words.BUSY)
    term.keys(words.TRANSCRIPT)
    term.wait("It is blue now")


@state("What can be done.")
def help(_house, term):  # noqa: A001: the frame's name.
    begin(term)
    term.keys(words.HELP)
    term.wait("Ctrl-O")


@state("Commands are completed.")
def completion_command(_house, term):
    begin(term)
    term.type("/re")
    term.wait("/resume")


@state("Files are completed.")
def completion_file(_house, term):
    begin(term)
    term.type("look at @not")
    term.wait(r"notes\.md")


@state("Forty columns, twelve rows: a question.", size=(40, 12))
def narrow(_house, term):
    begin(term)
    term.say("Make it blue")
    term.wait(words.CHOICES)


@state("Without colour.")
def without_colour(_house, term):
    begin(term, before="NO_COLOR=1 ")
    term.say("What is in notes.md?")
    term.wait('"red"')
    term.gone(words.BUSY)


def f1_every_state_looks_as_it_did():
    wrong = []
    for name, test in STATES.items():
        try:
            test()
        except Failed as failed:
            wrong.append(f"{name}: {failed}")
    if wrong:
        raise Failed("\n".join(wrong))
    return f"{len(STATES)} states"


def f1_a_session_is_recorded_frame_after_frame():
    """A whole session as one reads it: what was pressed, and what stood there then."""
    house = home("session")
    frames = []
    try:
        with Terminal(house, size=(80, 24)) as term:
            def seen(pressed):
                rule = "─" * 80
                frames.append(f"{pressed}\n{rule}\n{settled(term)}{rule}\n")

            begin(term)
            seen("$ weir")
            term.type("What is in notes.md?")
            term.wait("notes.md")
            seen("What is in notes.md?")
            term.keys("Enter")
            term.wait('"red"')
            term.gone(words.BUSY)
            seen("Enter")
            term.say("Make it blue")
            term.wait(words.CHOICES)
            coloured = term.coloured()
            seen("Make it blue, Enter")
            term.keys(words.ONCE)
            term.wait("It is blue now")
            term.gone(words.BUSY)
            seen(words.ONCE)
            term.keys(words.NEXT_MODE)
            term.wait(words.WIDENS)
            seen(words.NEXT_MODE)
            time.sleep(0.6)
            term.keys("Enter")
            term.wait(r"(?m)^ ?auto-edit ·")
            seen("Enter")
            term.say(words.LEAVE)
            term.status()
            seen("/quit, Enter")
            holds(house.read("notes.md") == NOTES.replace("red", "blue"), "the file is changed")
    finally:
        house.end()
    if KEPT:
        os.makedirs(FOLDER, exist_ok=True)
        with open(os.path.join(FOLDER, "session.txt"), "w", encoding="utf-8") as out:
            out.write("\n".join(frames))
        if not picture.photograph(coloured, 80, os.path.join(ROOT, PICTURE)):
            return "no picture: Chromium is not here"
    return f"{len(frames)} frames"
