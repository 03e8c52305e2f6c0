"""A terminal for one test: tmux on a socket of its own, with a shell in which `weir` is started. Keys
go in, what stands on the screen comes out. Not here: the bytes between them (`wire`)."""

import os
import re
import shlex
import subprocess
import tempfile
import time

from house import Failed, PATIENCE, WEIR, holds, until

# What the shell writes when nothing runs in it.
PROMPT = "shell> "
# Settings that stand in nobody's way: no status line, no waiting after Escape, all of the history.
CONFIG = """
set -g status off
set -s escape-time 0
set -g history-limit 100000
set -g remain-on-exit on
set -s set-clipboard off
set -g focus-events on
set -g default-terminal {term}
"""


class Terminal:
    """A shell in tmux."""

    def __init__(self, house, size=(80, 24), term="screen-256color", env=None):
        self.house = house
        self.folder = tempfile.mkdtemp(prefix="tmux-", dir=house.folder)
        self.socket = os.path.join(self.folder, "socket")
        config = os.path.join(self.folder, "config")
        with open(config, "w") as out:
            out.write(CONFIG.format(term=term))
        around = dict(house.env, **(env or {}))
        around["PS1"] = PROMPT
        # Before each prompt the shell notes how the last program ended and what the terminal is like.
        around["PROMPT_COMMAND"] = f'echo "$? $(stty -g)" >>{self.folder}/prompts'
        around["PATH"] = f"{os.path.dirname(os.path.abspath(WEIR))}:{around['PATH']}"
        # A shell that reads nobody's settings. Its own environment is all that `weir` gets.
        words = ["env", "-i", *(f"{key}={value}" for key, value in around.items()),
                 f"TERM={term}", "bash", "--norc", "--noprofile", "+o", "history"]
        line = f"cd {shlex.quote(house.work)} && exec {shlex.join(words)}"
        self.tmux("-f", config, "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), line)
        self.told = 0
        self.wait(PROMPT.strip())

    def tmux(self, *words, input=None):
        # Without TMUX, or a test inside somebody's tmux would speak to theirs.
        around = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TERM")}
        around["LC_ALL"] = "C.UTF-8"
        done = subprocess.run(["tmux", "-S", self.socket, "-u", *words], env=around, input=input,
                              capture_output=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            raise Failed(f"tmux {words[0]}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="replace")

    def close(self):
        try:
            self.tmux("kill-server")
        except Failed:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # What goes in.

    def keys(self, *names):
        """Keys by tmux's names: Enter, Escape, C-c, Up, a."""
        self.tmux("send-keys", *names)

    def type(self, text):
        """A text as if it were typed."""
        self.tmux("send-keys", "-l", text)

    def say(self, text):
        """A text, once it stands there, and Enter."""
        self.type(text)
        self.wait(re.escape(text.split("\n")[-1][:20]))
        self.keys("Enter")

    def paste(self, text):
        """A text as the terminal pastes it: in brackets, if the program asked for them."""
        data = text if isinstance(text, bytes) else text.encode()
        path = os.path.join(self.folder, "paste")
        with open(path, "wb") as out:
            out.write(data)
        self.tmux("load-buffer", path)
        self.tmux("paste-buffer", "-p", "-r")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    # What comes out.

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def lines(self):
        return [line.rstrip() for line in self.screen().split("\n")]

    def coloured(self):
        return self.tmux("capture-pane", "-p", "-e")

    def scrollback(self):
        """Everything since the terminal began, the screen too; wrapped lines stay wrapped."""
        return self.tmux("capture-pane", "-p", "-S", "-")

    def cursor(self):
        """(column, row, whether it is shown)."""
        format = "#{cursor_x} #{cursor_y} #{cursor_flag}"
        x, y, shown = self.tmux("display-message", "-p", format).split()
        return int(x), int(y), shown == "1"

    def modes(self):
        """What the program left switched on: alternate screen, mouse, bracketed paste is not told."""
        format = "#{alternate_on} #{mouse_any_flag} #{keypad_flag} #{keypad_cursor_flag}"
        return self.tmux("display-message", "-p", format).split()

    def has(self, pattern):
        return re.search(pattern, self.screen())

    def wait(self, pattern, patience=PATIENCE):
        """Waits until the screen matches, and gives the match."""
        try:
            return until(f"the screen shows {pattern!r}", lambda: self.has(pattern), patience)
        except Failed as failed:
            raise Failed(f"{failed}\n{self.framed()}") from None

    def wait_all(self, pattern, patience=PATIENCE):
        """The same with all that scrolled out."""
        look = lambda: re.search(pattern, self.scrollback())
        try:
            return until(f"the scrollback holds {pattern!r}", look, patience)
        except Failed as failed:
            raise Failed(f"{failed}\n{self.framed()}") from None

    def gone(self, pattern, patience=PATIENCE):
        """Waits until the screen does not match any more."""
        try:
            until(f"{pattern!r} is gone from the screen", lambda: not self.has(pattern), patience)
        except Failed as failed:
            raise Failed(f"{failed}\n{self.framed()}") from None

    def framed(self):
        lines = self.lines()
        while lines and not lines[-1]:
            lines.pop()
        return "\n".join(f"    | {line}" for line in lines)

    # The program.

    def start(self, *words, program="weir", before="", after="", ready=None):
        """Starts `weir` at the prompt, as a person does."""
        self.told = len(self.prompts())
        self.keys("C-l")
        if ready:
            # What the program before left there is not taken for this one.
            self.wait(rf"\A{re.escape(PROMPT.strip())}\s*\Z")
        self.type(f"{before}{shlex.join([program, *words])}{after}")
        self.keys("Enter")
        if ready:
            self.wait(ready)
        return self

    def prompts(self):
        """(exit status, settings of the terminal) at each prompt so far."""
        try:
            with open(os.path.join(self.folder, "prompts")) as file:
                return [tuple(line.split(" ", 1)) for line in file.read().splitlines()]
        except OSError:
            return []

    def status(self):
        """Waits until the shell is back; the program's exit status."""
        look = lambda: len(self.prompts()) > self.told
        try:
            until("the program ended", look)
        except Failed as failed:
            raise Failed(f"{failed}\n{self.framed()}") from None
        return int(self.prompts()[-1][0])

    def shell(self):
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def pid(self):
        """The program's process: the child of the shell."""
        def look():
            for pid in children(self.shell()):
                try:
                    if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(WEIR):
                        return pid
                except OSError:
                    continue
            return None
        return until("the program runs", look)

    def nothing_left(self):
        """No process of the house is left but the shell."""
        shell = self.shell()

        def look():
            return not [one for one in self.house.processes() if one[0] != shell]
        try:
            until("no process is left", look)
        except Failed:
            left = [one for one in self.house.processes() if one[0] != shell]
            raise Failed(f"processes are left: {left}") from None

    def restored(self):
        """The terminal is as it was before the program."""
        settings = [one[1] for one in self.prompts()]
        holds(len(set(settings)) == 1, f"the terminal's settings are the same after: {settings}")
        self.wait(re.escape(PROMPT.strip()) + r"\s*$")
        holds(self.cursor()[2], "the cursor is shown")
        holds(self.modes()[:2] == ["0", "0"], f"no mode stays on: {self.modes()}")


def hurried(presses, pause=0.0, since=None):
    """Presses one after the other. The longest that one came after the one before, or after `since`, at most:
    how quick a test can be is up to what else the machine does."""
    longest, last = 0.0, since
    for press in presses:
        began = time.monotonic()
        press()
        if last is not None:
            longest = max(longest, time.monotonic() - last)
        last = began
        time.sleep(pause)
    return longest


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []
