"""A pty of a test's own: every byte that `weir` writes is kept with its time, and the line can be slow
or dumb. It folds nothing to a screen: what is judged is the bytes. Not here: tmux (`screen`)."""

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import threading
import time

from house import Failed, PATIENCE, WEIR, holds, until

# What a terminal answers, by what was asked.
ANSWERS = (
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[0c", b"\x1b[?62;22c"),
    (b"\x1b[5n", b"\x1b[0n"),
    (b"\x1b[?u", b"\x1b[?0u"),
)


class Wire:
    """`weir` on a pty."""

    def __init__(self, house, *words, size=(80, 24), term="xterm-256color", env=None, baud=None,
                 answers=True, program=None):
        self.house = house
        self.chunks = []  # (time, bytes)
        self.total = bytearray()
        # A byte is ten bits on a serial line.
        self.rate = baud / 10 if baud else None
        self.answers = answers
        self.typed = bytearray()
        self.lock = threading.Lock()
        self.over = False
        around = dict(house.env, **(env or {}))
        if term is not None:
            around["TERM"] = term
        command = [program or WEIR, *words]
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(house.work)
            os.execve(command[0], command, around)
        self.resize(*size)
        self.code = None
        self.began = time.monotonic()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if self.rate:
            self.writer = threading.Thread(target=self._write_slowly, daemon=True)
            self.writer.start()

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self):
        """Takes what the program writes: all of it at once, or no faster than the line."""
        due = time.monotonic()
        while not self.over:
            ready, _, _ = select.select([self.master], [], [], 0.1)
            if not ready:
                continue
            try:
                data = os.read(self.master, 48 if self.rate else 65536)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                return
            if not data:
                return
            if self.rate:
                due = max(due, time.monotonic()) + len(data) / self.rate
                time.sleep(max(0.0, due - time.monotonic()))
            with self.lock:
                self.chunks.append((time.monotonic(), data))
                self.total += data
            if self.answers:
                for asked, answer in ANSWERS:
                    for _ in range(data.count(asked)):
                        self.send(answer)

    def _write_slowly(self):
        while not self.over:
            with self.lock:
                one, self.typed = bytes(self.typed[:1]), self.typed[1:]
            if one:
                self._put(one)
                time.sleep(1 / self.rate)
            else:
                time.sleep(0.002)

    def _put(self, data):
        while data:
            try:
                data = data[os.write(self.master, data):]
            except OSError as error:
                if error.errno == errno.EIO:
                    return
                raise

    def send(self, data):
        data = data if isinstance(data, bytes) else data.encode()
        if self.rate:
            with self.lock:
                self.typed += data
        else:
            self._put(data)

    def bytes(self):
        with self.lock:
            return bytes(self.total)

    def text(self):
        """What was written, without the sequences of a terminal."""
        return plain(self.bytes().decode(errors="replace"))

    def wait(self, pattern, patience=PATIENCE, since=0):
        """Waits until what was written, sequences left out, matches."""
        look = lambda: re.search(pattern, plain(self.bytes()[since:].decode(errors="replace")))
        try:
            return until(f"the program wrote {pattern!r}", look, patience)
        except Failed as failed:
            raise Failed(f"{failed}\n{self.text()[-1500:]}") from None

    def ready(self):
        """Waits until the face is there. Only what changes is written, so letters do not stand beside
        each other as on a screen: that it has come to rest must do."""
        self.wait(r"script/model")
        self.quiet(0.3)

    def say(self, text):
        """A text and Enter, not as one burst: that would be a paste."""
        before = len(self.bytes())
        self.send(text)
        until("something of it is shown", lambda: len(self.bytes()) > before)
        self.quiet(0.3)
        self.send("\r")

    def quiet(self, seconds, patience=PATIENCE):
        """Waits until nothing was written for so long, once it has begun to write or to read keys."""
        def look():
            with self.lock:
                last = self.chunks[-1][0] if self.chunks else None
            if last is None:
                # As the system made the terminal: nobody has begun with it.
                if self.settings()[3] & termios.ECHO:
                    return False
                last = self.began
            return time.monotonic() - last >= seconds
        until(f"nothing is written for {seconds} s", look, patience)

    def ended(self, patience=PATIENCE):
        """Waits until the process ended: its status, or the signal as a negative number."""
        def look():
            if self.code is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.code = os.waitstatus_to_exitcode(status)
            return self.code is not None
        until("the program ended", look, patience)
        self.reader.join(5)
        return self.code

    def alive(self):
        if self.code is not None:
            return False
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.code = os.waitstatus_to_exitcode(status)
        return self.code is None

    def settings(self):
        return termios.tcgetattr(self.master)

    def close(self):
        self.over = True
        if self.alive():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.reader.join(5)
        os.close(self.master)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"        # CSI
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"               # others
    r"|[\x00-\x08\x0b-\x1f\x7f]")


def plain(text):
    return SEQUENCE.sub("", text)


def sequences(text):
    """Every control that stands in a text, one after the other: escape sequences and single ones."""
    return re.findall(
        r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
        r"|[\x00-\x1f\x7f\x80-\x9f]", text)
