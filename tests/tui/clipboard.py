"""Pictures of the clipboard: a stand-in for the program that reads it, real everything else."""

import hashlib
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import zlib

import words
from attached import Server, sign_in
from house import PATIENCE, WEIR, Failed, House, field, holds, kind, same
from screen import Terminal


def picture(width=40, height=30):
    """A PNG of so many points, no two rows alike."""
    def chunk(name, data):
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + bytes((x * y + 7 * y) % 256 for x in range(3 * width))
                    for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


class Clipboard:
    """A clipboard that `xclip` reads: a stand-in for it, the first on PATH."""

    def __init__(self, house):
        self.folder = os.path.join(house.folder, "clip")
        os.makedirs(os.path.join(self.folder, "bin"))
        program = os.path.join(self.folder, "bin", "xclip")
        with open(program, "w") as out:
            out.write(f"""#!/bin/sh
case "$DISPLAY $*" in
  ":7 -selection clipboard -t TARGETS -o") cat {self.folder}/kinds ;;
  ":7 -selection clipboard -t image/png -o") cat {self.folder}/image ;;
  ":7 -selection clipboard -t UTF8_STRING -o") cat {self.folder}/words ;;
  *) echo "not so: $*" >&2; exit 3 ;;
esac
""")
        os.chmod(program, 0o755)
        self.env = {"DISPLAY": ":7",
                    "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        self.hold()

    def hold(self, image=None, text=None):
        """What somebody copied."""
        kinds = ["TARGETS"] + ["image/png"] * bool(image) + ["UTF8_STRING"] * bool(text)
        for name, data in (("image", image or b""), ("words", (text or "").encode()),
                           ("kinds", "\n".join(kinds).encode())):
            path = os.path.join(self.folder, name)
            with open(path + ".new", "wb") as out:
                out.write(data)
            os.rename(path + ".new", path)


def pictures(fact):
    """(media type, name, blob) of each block that is no text."""
    blocks = [block for block in field(fact, "content") if block.get("type") != "text"]
    if not all(block["type"] == "image" for block in blocks):
        raise Failed(f"what goes along is no picture: {blocks}")
    media = [block["media"] for block in blocks]
    return [(one["media_type"], one["name"], one["blob"]) for one in media]


def stored(house, blob):
    path = os.path.join(house.folder, "state", "weir", "weir.db")
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE)
    try:
        return store.execute("SELECT bytes FROM blobs WHERE id = ?", (blob,)).fetchone()[0]
    finally:
        store.close()


SEES = "abilities: tools, images\n\nexpect: image\nsays: I see it.\n"


def f1_a_picture_of_the_clipboard_is_attached_with_ctrl_v():
    house = House("clipboard", script=f"{SEES}\nexpect: image\nsays: And the other.\n")
    clipboard = Clipboard(house)
    first, second = picture(), picture(64, 48)
    try:
        with Terminal(house, env=clipboard.env) as term:
            term.start(ready=words.READY)
            # Nothing to attach: it says so and what to do, and the box is as it was.
            term.type("what is ")
            term.keys("C-v")
            term.wait("There is no picture in the clipboard")
            # One that is cut off is noticed before it is sent.
            clipboard.hold(image=first[:len(first) * 2 // 3])
            term.keys("C-v")
            term.wait(r"(?s)The picture in the clipboard cannot\s+be\s+used")
            term.wait(r"> what is *\n")
            holds(not house.sessions(), "nothing was said")
            clipboard.hold(image=first, text="its address")
            term.keys("C-v")
            term.wait(r"what is \[image: pasted-1\.png, \d+ (bytes|kB)\]")
            term.type("this?")
            term.wait(r"this\?")
            term.keys("Enter")
            term.wait("I see it")
            [fact] = house.wait_fact("input.accepted")
            [(kind_, name, blob)] = pictures(fact)
            same((kind_, name), ("image/png", "pasted-1.png"), "what goes along")
            same(blob, hashlib.sha256(first).hexdigest(), "its address is that of its bytes")
            same(stored(house, blob), first, "its bytes")
            said = "".join(block.get("text", "") for block in field(fact, "content"))
            holds(re.search(r"what is \[image: pasted-1\.png, .*\] this\?", said), f"said: {said}")
            term.gone(words.BUSY)
            # A terminal that is told to paste a picture pastes nothing, in brackets. It is one
            # thing.
            clipboard.hold(image=second)
            for _ in range(2):
                term.type("\x1b[200~\x1b[201~")
                term.wait(r"\[image: pasted-[23]\.png")
            term.wait(r"\[image: pasted-3\.png")
            term.keys("BSpace", "BSpace")
            term.gone("pasted-3")
            # Words are pasted.
            clipboard.hold(text="and this?")
            term.keys("C-v")
            term.wait(r"pasted-2.*and this\?")
            term.keys("Enter")
            term.wait("And the other")
            fact = house.wait_fact("input.accepted", 2)[1]
            [(_, name, blob)] = pictures(fact)
            same((name, stored(house, blob)), ("pasted-2.png", second), "the other")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
            term.nothing_left()
    finally:
        house.end()


def f1_what_reads_the_clipboard_is_named_where_it_is_missing():
    house = House("no-clipboard")
    # A PATH with what the terminal's shell needs, and nothing that reads a clipboard.
    few = os.path.join(house.folder, "few")
    os.makedirs(few)
    for name in ("bash", "stty"):
        os.symlink(shutil.which(name), os.path.join(few, name))
    try:
        for env, said in (({}, "neither WAYLAND_DISPLAY nor DISPLAY is set"),
                          ({"WAYLAND_DISPLAY": "w", "PATH": few}, "package wl-clipboard")):
            with Terminal(house, env=env, size=(160, 24)) as term:
                term.start(ready=words.READY)
                term.keys("C-v")
                term.wait(re.escape(said))
                term.gone("reading the clipboard")
    finally:
        house.end()


def f1_a_picture_of_the_clipboard_goes_with_a_line_in_line_mode():
    house = House("clipboard-lines", script=SEES)
    clipboard = Clipboard(house)
    clipboard.hold(image=picture())
    try:
        done = subprocess.run([WEIR, "--plain"], input=b"/paste\nwhat is this?\n", cwd=house.work,
                              env=dict(house.env, **clipboard.env), capture_output=True,
                              timeout=PATIENCE, check=False)
        told = done.stdout.decode()
        same(done.returncode, 0, f"the exit status; it said {told}{done.stderr.decode()}")
        holds("pasted-1.png" in told and "goes with your next message" in told, f"said: {told}")
        [fact] = house.wait_fact("input.accepted")
        [(kind_, name, blob)] = pictures(fact)
        same((kind_, name), ("image/png", "pasted-1.png"), "what goes along")
        same(stored(house, blob), picture(), "its bytes")
    finally:
        house.end()


def f1_attach_a_picture_of_this_machines_clipboard_goes_to_the_server():
    house = House("clipboard-attach", script=SEES)
    server = Server(house)
    clipboard = Clipboard(house)
    clipboard.hold(image=picture())
    try:
        with Terminal(house, env=clipboard.env) as term:
            sign_in(term, server)
            term.keys("C-v")
            term.wait(r"\[image: pasted-1\.png, ")
            term.type("what is this?")
            term.wait(r"what is this\?")
            term.keys("Enter")
            term.wait("I see it")
            name = server.sessions()[0]["id"]
            [fact] = [fact for fact in server.facts(name) if kind(fact) == "input.accepted"]
            [(kind_, _, blob)] = pictures(fact)
            same(kind_, "image/png", "what goes along")
            same(server.bytes(f"sessions/{name}/blobs/{blob}"), picture(), "its bytes")
            term.say(words.LEAVE)
            same(term.status(), 0, "the exit status")
    finally:
        server.close()
        house.end()
