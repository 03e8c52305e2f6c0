#!/usr/bin/env python3
"""A vault, judged from outside (K1, K2, K4): the program's counts of links beside those of a resolver of our
own that shares no code with it; 200 random moves, after which every link leads where it led; an undo to the
byte; and properties that are set and taken away again, byte for byte.

    prove.py WEIR [VAULT] [SEED]

Without a vault it makes one with the same constructs. A vault that is named is copied; it is not changed.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

MOVES = 200
CALLS_OF_A_REPLY = 10
EMPTY = re.compile(r"[^\n]")


def masked(pattern, text, flags=0):
    """The text with everything of a pattern as blanks."""
    return re.sub(pattern, lambda found: EMPTY.sub(" ", found[0]), text, flags=flags)


def readable(text):
    """A note without what holds no links: code, comments, math."""
    text = masked(r"^[ \t>]*(`{3,}|~{3,})[^\n]*\n.*?^[ \t>]*\1[`~]*[ \t\r]*$", text, re.M | re.S)
    text = masked(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", text)
    text = masked(r"%%.*?%%", text, re.S)
    text = masked(r"<!--.*?-->", text, re.S)
    return masked(r"\$\$.*?\$\$", text, re.S)


def split(text):
    """Properties and the rest."""
    found = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", text, re.S | re.M)
    return (found[1], text[found.end():]) if found else ("", text)


def links_of(text):
    """All links of a note as they are meant: file, and what in it."""
    properties, body = split(text)
    body = readable(body)
    wiki = re.compile(r"\[\[([^\[\]\n]+?)\]\]")
    found = [one[1] for one in wiki.finditer(body)]
    found += [one[1] for one in wiki.finditer("\n".join(
        line for line in properties.splitlines() if re.search(r"[\"']\[\[[^\]]*\]\][\"']", line)))]
    targets = [re.split(r"\\?\|", one)[0].partition("#")[::2] for one in found]
    for one in re.finditer(r"\]\((?:<([^<>\n]*)>|([^()\s]*(?:\([^()\s]*\)[^()\s]*)*))(?:\s+\"[^\"]*\")?\)", masked(wiki.pattern, body)):
        target = one[1] if one[1] is not None else one[2]
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", target) or not target:
            continue
        targets.append([unquote(part) for part in target.partition("#")[::2]])
    return [[unicodedata.normalize("NFC", part).strip() for part in one] for one in targets]


def heading_key(text):
    return re.findall(r"[\w'’–—-]+", text.lower())


def has_part(text, part):
    """Whether a note has the heading or the block that a link names in it."""
    if part.startswith("^"):
        return re.search(rf"(^|\s){re.escape(part)}[ \t\r]*$", split(text)[1], re.M | re.I) is not None
    # Code in a heading is part of its name.
    there = [heading_key(one[1]) for one in re.finditer(r"^[ ]{0,3}#{1,6}[ \t]+(.*)$", split(text)[1], re.M)]
    return all(heading_key(one) in there for one in part.split("#") if heading_key(one))


class Vault:
    """Files by name, as a person who looks for one finds it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.files = sorted(
            path.relative_to(folder).as_posix() for path in self.folder.rglob("*")
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts))
        self.by_path = {self.key(path): path for path in self.files}
        self.by_name = {}
        for path in self.files:
            self.by_name.setdefault(self.key(PurePosixPath(path).name), []).append(path)

    @staticmethod
    def key(path):
        return unicodedata.normalize("NFC", path).lower()

    def candidates(self, source, target):
        """All files that a link may mean; more than one: only the program's own rule tells."""
        if not target:
            return [source]
        names = [target] if PurePosixPath(target).suffix else []
        names.append(f"{target}.md")
        for name in names:
            here = os.path.normpath(PurePosixPath(source).parent / name)
            whole = name.lstrip("/")
            for path in (here, os.path.normpath(whole)):
                if self.key(path) in self.by_path and ("/" in name or len(self.by_name[self.key(PurePosixPath(path).name)]) == 1):
                    return [self.by_path[self.key(path)]]
            same = self.by_name.get(self.key(PurePosixPath(name).name), [])
            tail = [part for part in PurePosixPath(whole).parts if part not in (".", "..")]
            fits = [path for path in same if [self.key(p) for p in PurePosixPath(path).parts[-len(tail):]] == [self.key(p) for p in tail]]
            if fits:
                return fits
        return []

    def links(self):
        """Each link of each note: source, target as it is written, what it may mean, whether it leads nowhere."""
        for path in self.files:
            if path.endswith(".md"):
                text = (self.folder / path).read_text("utf-8", "surrogateescape")
                for number, (target, part) in enumerate(links_of(text)):
                    means = self.candidates(path, target)
                    yield path, number, target, means, all(self.lacks(one, part) for one in means)

    def lacks(self, path, part):
        """Whether there is no such part in a note."""
        if not path.endswith(".md") or not part:
            return False
        return not has_part((self.folder / path).read_text("utf-8", "surrogateescape"), part)


class Program:
    """`weir run` with a script, in folders of its own."""

    def __init__(self, weir, vault, home):
        self.weir, self.vault, self.home = weir, vault, Path(home)
        (self.home / "config/weir").mkdir(parents=True)
        self.script = self.home / "model.script"
        (self.home / "config/weir/config.toml").write_text(
            f'model = "script:{self.script}"\n[limits]\nmax_iterations = 1000\nmax_tool_calls = 5000\n')
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home)} | {
            f"XDG_{part}_HOME": str(self.home / part.lower()) for part in ("CONFIG", "STATE", "DATA")}

    def command(self, *words):
        done = subprocess.run([self.weir, *words], cwd=self.vault, env=self.env, capture_output=True, text=True, timeout=1200)
        if done.returncode != 0:
            raise SystemExit(f"weir {' '.join(words)}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def calls(self, calls, permission="auto-edit"):
        """Makes calls of tools; what came of each."""
        replies = [calls[at:at + CALLS_OF_A_REPLY] for at in range(0, len(calls), CALLS_OF_A_REPLY)]
        text = "\n\n".join("\n".join(f"calls: {name} {json.dumps(arguments)}" for name, arguments in reply) for reply in replies)
        self.script.write_text(f"{text}\n\nsays: Done.\n")
        lines = self.command("run", "--output", "jsonl", "--permission", permission, "Do it.").splitlines()
        events = [json.loads(line) for line in lines]
        ended = [event for event in events if event["kind"] == "call.finished"]
        # What only reads is done side by side.
        return sorted(ended, key=lambda event: int(event["call"][1:]))


def text_of(event):
    return "\n".join(part.get("text", "") for part in event["result"])


def snapshot(folder):
    return {path: (Path(folder) / path).read_bytes() for path in Vault(folder).files}


passed = failed = 0


def check(name, good, why=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"{'ok' if good else 'FAILED'} {name}{'' if good else f': {why}'}")


def prove_counts(program, vault):
    """The program's links and broken links beside ours."""
    found = text_of(program.calls([("find_tool", {"query": "get_vault_stats"}), ("get_vault_stats", {})])[-1])
    counted = re.search(r"(\d+) notes.*?(\d+) links, (\d+) broken", found)
    links = list(vault.links())
    own = [sum(path.endswith(".md") for path in vault.files), len(links), sum(broken for *_, broken in links)]
    told = [int(one) for one in counted.groups()] if counted else found
    print(f"  notes, links, broken: {told} (the program), {own} (counted here)")
    check("k1_links_and_broken_links_are_as_counted_from_outside", told == own, f"{told} and {own}")


def prove_moves(program, vault, seed):
    """Random moves: every link that meant one file means it where it is now; and back, to the byte."""
    before, chance = snapshot(vault.folder), random.Random(seed)
    meant = {}
    for source, number, _, means, _ in vault.links():
        if len(means) == 1:
            meant[source, number] = means[0]
    files = [path for path in vault.files if not path.endswith((".js", ".css"))]
    now = {path: path for path in files}
    moves = []
    for step in range(MOVES):
        first = chance.choice(files)
        name = PurePosixPath(now[first])
        folder = chance.choice(["", "Moved", "Moved/deep down", "Ärger", str(name.parent), "en/New"])
        stem = chance.choice([name.stem, f"{name.stem} {step}", f"Neu {step}", f"a (b) {step}"])
        to = f"{folder}/{stem}{name.suffix}".lstrip("/").removeprefix("./")
        if to == now[first] or to.lower() in (path.lower() for path in now.values()):
            continue
        moves.append(("move_file", {"from": now[first], "to": to}))
        now[first] = to
    results = program.calls(moves)
    wrong = [text_of(event)[:300] for event in results if not event["ok"]]
    check(f"k4_{len(moves)}_random_moves_are_made", not wrong and len(results) == len(moves), wrong[:3])
    after, astray = Vault(vault.folder), []
    there = {(source, number): (target, means) for source, number, target, means, _ in after.links()}
    for (source, number), target in meant.items():
        source, target = now.get(source, source), now.get(target, target)
        written, means = there.get((source, number), ("(gone)", []))
        if target not in means:
            astray.append(f"{source}: {written} should be {target}")
    check(f"k4_{len(meant)}_links_lead_where_they_led", not astray, f"{len(astray)}: {astray[:5]}")
    program.command("undo")
    now_there = snapshot(vault.folder)
    other = sorted(path for path in before.keys() | now_there.keys() if before.get(path) != now_there.get(path))
    check("k4_one_undo_brings_back_every_byte", not other, f"{len(other)}: {other[:5]}")


def prove_properties(program, vault):
    """A property is set and taken away again in every note."""
    notes = [path for path in vault.files if path.endswith(".md")]
    before = snapshot(vault.folder)
    sets = [("update_frontmatter", {"path": path, "set": {"proved": "yes: #1"}}) for path in notes]
    results = program.calls(sets)
    made = {note for note, event in zip(notes, results) if event["ok"]}
    changed = snapshot(vault.folder)
    body = lambda files, path: split(files[path].decode())[1].lstrip("\ufeff\r\n")
    kept = all(body(changed, path) == body(before, path) for path in made)
    check("k2_properties_are_set_and_the_text_stays", kept and len(made) == len(notes), f"{len(made)} of {len(notes)}")
    program.calls([("update_frontmatter", {"path": path, "remove": ["proved"]}) for path in made])
    now_there = snapshot(vault.folder)
    other = [path for path in notes if before[path] != now_there.get(path)]
    check(f"k2_{len(made)}_notes_are_as_they_were_to_the_byte", not other, f"{len(other)}: {other[:5]}")


def made_vault(folder, chance):
    """A vault of our own: each construct of links, properties and names, and many notes."""
    words = ["Garden", "Über uns", "Plan (old)", "a#b".replace("#", "-"), "Daily", "日本語", "Straße", "x"]
    names = [f"{chance.choice(['', 'Notes/', 'Deep/er/', 'en/'])}{chance.choice(words)} {n}" for n in range(120)]
    for n, name in enumerate(names):
        other = lambda: chance.choice(names)
        short = lambda: other().rsplit("/", 1)[-1]
        text = "\ufeff" * (n % 40 == 1)
        if n % 2:
            text += f"---\ntags: [a, b/c] # kept\naliases:\n    - \"Name {n}\"\nup: \"[[{other()}|up]]\"\nempty:\n---\n"
        text += f"# Heading\n\nSee [[{short()}]], [[{other()}|shown]], [[{short()}#Heading|`code`]] and ![[image {n % 5}.png|100]].\n"
        text += f"[text]({other().replace(' ', '%20').replace('(', '%28').replace(')', '%29')}.md#Heading) [web](https://example.org) [[Nowhere {n}]]\n"
        text += f"| a |\n|---|\n| [[{short()}\\|cell]] |\n\n`[[{short()}]]` %% [[none]] %% ^block{n}\n\n```\n[[{short()}]]\n```\n- [ ] [[{other()}]]\n"
        path = Path(folder) / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((text.replace("\n", "\r\n") if n % 7 == 3 else text).encode())
    for n in range(5):
        (Path(folder) / f"image {n}.png").write_bytes(bytes([137, 80, 78, 71, n]))


def main():
    weir, seed = os.path.abspath(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with tempfile.TemporaryDirectory(prefix="weir-vault-") as scratch:
        folder = Path(scratch) / "vault"
        if len(sys.argv) > 2:
            shutil.copytree(sys.argv[2], folder)
        else:
            folder.mkdir()
            made_vault(folder, random.Random(seed))
        (folder / ".obsidian").mkdir(exist_ok=True)
        (folder / ".obsidian/app.json").write_text("{}")
        program, vault = Program(weir, folder, Path(scratch) / "home"), Vault(folder)
        prove_counts(program, vault)
        prove_moves(program, vault, seed)
        prove_properties(program, vault)
    print(f"vault: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
