"""Words of others that would rather be commands of the terminal. None of them gets there."""

import json
import re

import words
from house import Failed, House, holds, same
from screen import Terminal
from wire import Wire, sequences

# What the face itself writes, and nothing else.
OURS = re.compile(
    r"\x1b\[[\d;:]*m"                  # colours
    r"|\x1b\[[\d;]*[ABCDEFGHJKLMPSTX@df]"  # moves, clears
    r"|\x1b\[\?[\d;]+[hl]"             # modes, looked at below
    r"|\x1b\[[<>?=][\d;]*u"            # the keyboard
    r"|\x1b\[[05c6n?]*[cn]"            # questions
    r"|\x1b\[2[23];2t"                 # the title that was there, kept and given back
    r"|\x1b[78]"
    r"|[\r\n\x07\x08]")
MODES = {"25", "7", "2004", "2026", "1004", "1049", "2031", "12"}
TITLE = re.compile(r"\x1b\](?:0|2|9|777);([^\x07\x1b]*)(?:\x07|\x1b\\)")

# Each with a mark that would be seen if it came through.
EVIL = (
    "\x1b]52;c;SE9TVElMRQ==\x07", "\x1b]0;HOSTILE\x07", "\x1b]2;HOSTILE\x1b\\",
    "\x1b]8;;http://hostile.example\x1b\\link\x1b]8;;\x1b\\", "\x1b]1337;File=HOSTILE\x07",
    "\x1bPq#HOSTILE\x1b\\", "\x1b_GHOSTILE\x1b\\", "\x1b^HOSTILE\x1b\\", "\x1bXHOSTILE\x1b\\",
    "\x1b[13;37H", "\x1b[2J\x1b[3J", "\x1b[31;45;5mred", "\x1b[?1000h\x1b[?1003h", "\x1b[?1047h",
    "\x1b[6n", "\x1b[21t", "\x1bc", "\x1b(0", "\x1b#8", "\x0e\x0f", "\x9b13;37H", "\x9d0;HOSTILE\x9c",
    "\x90HOSTILE\x9c", "\x85", "\x84", "\x08\x08\x08over", "\rover", "\x00\x01\x02", "\x7f\x7f",
    "\u202egnp.exe", "\u2066\u2069", "a\u200bb", "\ufeff", "\U000e0041\U000e0042", "\x1b", "\x1b[",
)
TEXT = " | ".join(EVIL)
SURE = (b"\x1b[13;37H", b"\x1b[31;45;5m", b"\x1b[?1000h", b"\x1b[?1003h", b"\x1b[21t", b"\x1bc",
        b"\x1b(0", b"\x1b#8", b"\x1b]52", b"\x1b]1337", b"\x1bP", b"\x1b_", b"\x1b^", b"\x1bX",
        "\x9b".encode(), "\x9d".encode(), "\x90".encode(), "\x85".encode(), "\u202e".encode(),
        "\u2066".encode(), "\U000e0041".encode(), b"\x00", b"\x0e", b"\x0f", b"\x7f", b"\x01")


def judged(wire, what):
    data = wire.bytes()
    # A sequence may still be on its way.
    for raw in SURE:
        if raw in data:
            at = data.index(raw)
            raise Failed(f"{what}: {raw!r} reached the terminal: {data[max(0, at - 60):at + 60]!r}")
    for one in sequences(data.decode(errors="replace")):
        title = TITLE.fullmatch(one)
        if title:
            holds(not re.search(r"[\x00-\x1f\x7f-\x9f]", title.group(1)), "a title holds no control")
            continue
        if not OURS.fullmatch(one):
            raise Failed(f"{what}: {one!r} is nothing that the face writes")
        mode = re.fullmatch(r"\x1b\[\?([\d;]+)[hl]", one)
        holds(not mode or set(mode.group(1).split(";")) <= MODES, f"{what}: mode {one!r} is ours")


def block(text):
    # A script is read in lines; what breaks lines stands in calls, as JSON.
    return "says: |\n" + "".join(f"  {line}\n" for line in text.split("\n"))


def escaped(tool, **arguments):
    return f"calls: {tool} {json.dumps(arguments)}\n"


def talked(wire, text, until_shown):
    wire.ready()
    wire.say(text)
    wire.wait(until_shown)


def z10_model_text_reaches_no_terminal_raw():
    text = TEXT.replace("\n", " ")
    script = (f"pace: 5ms\nthink: {text}\n" + block(f"begin {text} end.\n\n```\n{text}\n```\n\n| a | b |\n"
              f"|---|---|\n| {text} | x |\n\n# {text}\n\n[{text}](http://x/{text})\n\nall-of-it"))
    house = House("model", script)
    try:
        with Wire(house, size=(100, 30)) as wire:
            talked(wire, "say it", "all-of-it")
            wire.quiet(0.5)
            judged(wire, "the model's text")
        for flag in ("--plain", "--screen-reader"):
            with Wire(house, flag, size=(100, 30)) as wire:
                wire.quiet(0.7)
                wire.send("say it\r")
                wire.wait("all-of-it")
                wire.quiet(0.5)
                judged(wire, f"the model's text with {flag}")
    finally:
        house.end()


def z10_results_names_and_questions_reach_no_terminal_raw():
    name = "evil\x1b]0;HOSTILE\x07\x1b[13;37H\u202etxt.md"
    script = (escaped("run_shell", command="cat evil.txt; printf 'progress'; printf '%s' \"$0\"")
              + "\n" + escaped("read_file", path="evil.txt") + "\n" + escaped("list_files", path=".")
              + "\n" + escaped("write_file", path="new.txt", content=TEXT + "\n")
              + "\n" + escaped("update_todo_list", todos=[{"content": TEXT, "status": "pending"}])
              + "\n" + escaped("ask_followup_question", question=TEXT, options=[TEXT, "no"])
              + "\n" + "says: all-of-it\n")
    house = House("results", script, files={"evil.txt": TEXT + "\n", name: "x\n"},
                  permission="full")
    try:
        with Wire(house, size=(100, 30)) as wire:
            wire.ready()
            # Completion over hostile names.
            wire.send("@evil")
            wire.wait(r"evil\.txt")
            wire.send("\x15")
            talked(wire, "do it", "SE9TVElMRQ==")
            house.wait_fact("question.asked")
            wire.quiet(0.7)
            wire.send("\r")
            wire.wait("all-of-it")
            wire.quiet(0.5)
            judged(wire, "results, names and questions")
    finally:
        house.end()


def z10_what_is_asked_about_reaches_no_terminal_raw():
    script = (escaped("run_shell", command=f"echo '{TEXT}' > made") + "\n"
              + escaped("edit_file", path="evil.txt", old_text="here", new_text=TEXT)
              + "\nsays: all-of-it\n")
    house = House("asked", script, files={"evil.txt": f"{TEXT}\nhere\n"})
    try:
        with Wire(house, size=(100, 30)) as wire:
            talked(wire, "do it", words.CHOICES)
            wire.quiet(0.5)
            judged(wire, "a command that is asked about")
            before = len(wire.bytes())
            wire.send(words.ONCE)
            house.wait_fact("approval.requested", times=2)
            wire.wait(words.CHOICES, since=before)
            wire.quiet(0.5)
            wire.send(words.ONCE)
            wire.wait("all-of-it")
            judged(wire, "a difference that is asked about")
    finally:
        house.end()


def z10_the_persons_own_words_and_old_sessions_reach_no_terminal_raw():
    house = House("own", "says: Yes.\n\nsays: all-of-it\n")
    try:
        house.weir("run", "--quiet", "-", input=("old " + TEXT.replace("\x00", "")).encode())
        with Wire(house, size=(100, 30)) as wire:
            wire.ready()
            wire.send("\x1b[200~pasted " + TEXT.replace("\x1b", "\x1b ") + "\x1b[201~")
            wire.wait("pasted")
            wire.quiet(0.5)
            judged(wire, "pasted text")
            wire.send("\x15" * 5)
            wire.quiet(0.3)
            wire.say("/resume")
            wire.wait("old ")
            wire.quiet(0.5)
            judged(wire, "the list of sessions")
            wire.send("\r")
            wire.wait(r"Yes\.")
            wire.quiet(0.5)
            judged(wire, "an old session")
            house.write("evil.txt", TEXT + "\n")
            wire.send("!")
            wire.say("cat evil.txt; echo shell-$((40 + 2))")
            wire.wait("shell-42")
            wire.quiet(0.5)
            judged(wire, "what a command of one's own prints")
    finally:
        house.end()


def z10_long_lines_wide_combining_and_right_to_left_fit():
    samples = ("x" * 20000, "漢字" * 500, "e\u0301" * 300, "👩‍👩‍👧‍👦" * 60, "🇩🇪" * 80, "שלום עולם " * 40,
               "مرحبا بالعالم " * 40, "a" + "\u0301" * 500, "\t" * 50 + "tab", "क्षत्रिय " * 40)
    house = House("wide", block("\n\n".join(samples) + "\n\nall-of-it"))
    try:
        for size in ((80, 24), (40, 12)):
            with Terminal(house, size=size) as term:
                term.start(ready=words.READY)
                term.say("say it")
                term.wait("all-of-it")
                term.wait(words.DONE)
                rows = term.scrollback().split("\n")
                text = "".join(rows)
                same(text.count("x") >= 20000, True, "the long line is there whole")
                same(text.count("漢") >= 500, True, "the wide one too")
                # The live region stands where it should: the cursor is in the box, on an own row.
                term.type("typed here")
                term.wait("typed here")
                column, row, _ = term.cursor()
                holds("typed here" in term.lines()[row], f"the cursor is in the box (row {row})")
    finally:
        house.end()
