"""A house for one test: folders of its own, a scripted model, what stands in its journal, and which
processes are left. Not here: terminals (`screen`, `wire`)."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

WEIR = os.environ["WEIR_BIN"]
# How long anything may take before it counts as not happening. The machine may be busy.
PATIENCE = 90.0
# Between two looks.
LOOK_AGAIN = 0.03

_numbers = itertools.count(1)


class Failed(Exception):
    """A test did not hold."""


def holds(condition, what):
    if not condition:
        raise Failed(f"it does not hold that {what}")


def same(got, wanted, what):
    if got != wanted:
        raise Failed(f"{what}: got {got!r}, wanted {wanted!r}")


def until(what, look, patience=PATIENCE):
    """Waits until `look` gives something true, and gives it."""
    end = time.monotonic() + patience
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise Failed(f"after {patience:.0f} s it is not so that {what}")
        time.sleep(LOOK_AGAIN)


class House:
    """Folders, environment and journal of one test."""

    def __init__(self, name, script="says: Done.\n", config="", files=None, permission=None):
        self.name = name
        # The folder's name is in the command line or environment of everything that it starts.
        self.folder = tempfile.mkdtemp(prefix=f"weir-tui-{os.getpid()}-{next(_numbers)}-")
        for part in ("home", "config/weir", "state", "data", "cache", "run", "work"):
            os.makedirs(os.path.join(self.folder, part), mode=0o700)
        self.work = os.path.join(self.folder, "work")
        for path, text in (files or {}).items():
            self.write(path, text)
        self.script_file = os.path.join(self.folder, "model.script")
        self.script(script)
        head = f'model = "script:{self.script_file}"\n'
        if permission:
            head += f'permission = "{permission}"\n'
        with open(os.path.join(self.folder, "config/weir/config.toml"), "w") as out:
            out.write(head + config)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": os.path.join(self.folder, "home"),
            "USER": "tester",
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "XDG_CONFIG_HOME": os.path.join(self.folder, "config"),
            "XDG_STATE_HOME": os.path.join(self.folder, "state"),
            "XDG_DATA_HOME": os.path.join(self.folder, "data"),
            "XDG_CACHE_HOME": os.path.join(self.folder, "cache"),
            "XDG_RUNTIME_DIR": os.path.join(self.folder, "run"),
            "WEIR_TUI_HOUSE": self.folder,
        }

    def script(self, text):
        with open(self.script_file, "w") as out:
            out.write(text)

    def write(self, path, text):
        whole = os.path.join(self.work, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        data = text if isinstance(text, bytes) else text.encode()
        with open(whole, "wb") as out:
            out.write(data)

    def read(self, path):
        with open(os.path.join(self.work, path), encoding="utf-8") as file:
            return file.read()

    def weir(self, *words, check=True, input=None):
        """Another `weir` of the same house, without a terminal: what it prints."""
        done = subprocess.run(
            [WEIR, *words], env=self.env, cwd=self.work, capture_output=True, timeout=PATIENCE,
            input=input, stdin=subprocess.DEVNULL if input is None else None, check=False)
        if check and done.returncode != 0:
            raise Failed(f"weir {' '.join(words)} ended with {done.returncode}:\n"
                         f"{done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="replace")

    def sessions(self):
        return json.loads(self.weir("sessions", "list", "--json"))

    def session(self):
        """The id of the newest session."""
        found = self.sessions()
        holds(found, "there is a session")
        return found[0]["id"]

    def facts(self, session=None):
        lines = self.weir("sessions", "export", session or self.session(), "--format", "jsonl")
        return [json.loads(line) for line in lines.split("\n") if line.strip()]

    def kinds(self, session=None):
        return [kind(fact) for fact in self.facts(session)]

    def wait_fact(self, wanted, times=1, session=None, where=None):
        """Waits until the journal holds so many facts of a kind."""
        def look():
            try:
                found = [fact for fact in self.facts(session) if kind(fact) == wanted]
            except Failed:
                return None
            found = [fact for fact in found if where is None or where(fact)]
            return found if len(found) >= times else None
        return until(f"the journal holds {times} × {wanted}", look)

    def processes(self):
        """Processes of this house: by their environment, their words or their folder."""
        found = []
        for pid in (name for name in os.listdir("/proc") if name.isdigit()):
            if int(pid) == os.getpid():
                continue
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read()
                with open(f"/proc/{pid}/environ", "rb") as file:
                    around = file.read()
                folder = os.readlink(f"/proc/{pid}/cwd").encode()
            except OSError:
                continue
            if words.startswith(b"tmux\0"):
                continue
            mark = self.folder.encode()
            if mark in words or mark in around or folder.startswith(mark):
                found.append((int(pid), words.replace(b"\0", b" ").decode(errors="replace")))
        return found

    def end(self):
        """Nothing of it stays, whatever the test did."""
        for pid, _ in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)


def kind(fact):
    return fact["kind"]


def field(fact, name):
    """A field of a fact that has it."""
    if name not in fact:
        raise Failed(f"no field {name} in {json.dumps(fact)[:300]}")
    return fact[name]


def ticks(pid):
    """Processor time that a process has used, in clock ticks."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
