"""A picture of a terminal: what tmux captured with its colours, as a page, photographed by Chromium.
Not here: what is on it."""

import html
import os
import re
import shutil
import subprocess
import tempfile
import unicodedata

BASIC = ("#1e2127", "#e06c75", "#98c379", "#d19a66", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
         "#5c6370", "#e88388", "#a8d08d", "#e5c07b", "#7fc1f7", "#d7a1e7", "#7fd1db", "#ffffff")
BACK, FRONT = "#16181d", "#d7dae0"
CELL, ROW, MARGIN = 9, 20, 18
PAGE = """<!doctype html><meta charset="utf-8"><title>weir</title><style>
* {{ margin: 0; padding: 0 }} body {{ background: {back}; }}
pre {{ position: relative; margin: {margin}px; width: {width}px; height: {height}px;
  font: 15px/{row}px "DejaVu Sans Mono", "Liberation Mono", monospace; color: {front}; }}
span {{ position: absolute; height: {row}px; white-space: pre; overflow: hidden; }}
</style><pre>{cells}</pre>"""


def colour(words):
    """The next colour of an SGR sequence: (it, the words that are left)."""
    if words[:1] == ["5"] and len(words) > 1:
        number = int(words[1])
        if number < 16:
            return BASIC[number], words[2:]
        if number >= 232:
            grey = 8 + (number - 232) * 10
            return f"rgb({grey},{grey},{grey})", words[2:]
        steps = (0, 95, 135, 175, 215, 255)
        number -= 16
        rgb = (steps[number // 36], steps[number // 6 % 6], steps[number % 6])
        return f"rgb{rgb}", words[2:]
    if words[:1] == ["2"] and len(words) > 3:
        return f"rgb({words[1]},{words[2]},{words[3]})", words[4:]
    return None, words


class Style:
    """How the next letters look."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.front = self.back = None
        self.on = set()

    def sgr(self, text):
        words = re.split("[;:]", text) if text else ["0"]
        while words:
            word, words = int(words[0] or 0), words[1:]
            if word == 0:
                self.clear()
            elif word in (1, 2, 3, 4, 7, 9):
                self.on.add(word)
            elif word == 22:
                self.on -= {1, 2}
            elif word in (23, 24, 27, 29):
                self.on.discard(word - 20)
            elif word == 38:
                self.front, words = colour(words)
            elif word == 48:
                self.back, words = colour(words)
            elif word == 39:
                self.front = None
            elif word == 49:
                self.back = None
            elif 30 <= word <= 37 or 90 <= word <= 97:
                self.front = BASIC[word - 30 if word < 90 else word - 82]
            elif 40 <= word <= 47 or 100 <= word <= 107:
                self.back = BASIC[word - 40 if word < 100 else word - 92]

    def css(self):
        front, back = self.front or FRONT, self.back or "transparent"
        if 7 in self.on:
            front, back = (BACK if self.back is None else self.back), self.front or FRONT
        css = f"color:{front};background:{back}"
        css += ";font-weight:bold" if 1 in self.on else ""
        css += ";opacity:.65" if 2 in self.on else ""
        css += ";font-style:italic" if 3 in self.on else ""
        lines = [name for number, name in ((4, "underline"), (9, "line-through")) if number in self.on]
        return css + (f";text-decoration:{' '.join(lines)}" if lines else "")


def cells(letter):
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def page(captured, columns):
    """The capture as HTML; letters of one look are one piece, each where it stood."""
    out, style = [], Style()
    rows = captured.rstrip("\n").split("\n")
    for number, row in enumerate(rows):
        column, run, look = 0, "", None

        def flush():
            if run.strip() or (look and "background:transparent" not in look):
                left = (column - sum(map(cells, run))) * CELL
                out.append(f'<span style="left:{left}px;top:{number * ROW}px;{look}">'
                           f"{html.escape(run)}</span>")

        for part in re.split(r"(\x1b\[[\d;:]*m|\x1b[\]\[][^m\x07\x1b]*[\x07\\]?)", row):
            sgr = re.fullmatch(r"\x1b\[([\d;:]*)m", part)
            if sgr:
                flush()
                run = ""
                style.sgr(sgr.group(1))
                continue
            if part.startswith("\x1b"):
                continue
            for letter in part:
                wide = not letter.isascii()
                if wide or look != style.css():
                    flush()
                    run = ""
                look = style.css()
                run += letter
                column += cells(letter)
                if wide:
                    flush()
                    run = ""
        flush()
    return PAGE.format(back=BACK, front=FRONT, margin=MARGIN, row=ROW, cells="".join(out),
                       width=columns * CELL, height=len(rows) * ROW)


def photograph(captured, columns, path):
    """Writes a PNG. Says whether there was a browser to do it."""
    program = os.environ.get("WEIR_CHROMIUM") or shutil.which("chromium")
    if not program:
        return False
    rows = len(captured.rstrip("\n").split("\n"))
    size = f"{columns * CELL + 2 * MARGIN},{rows * ROW + 2 * MARGIN}"
    with tempfile.TemporaryDirectory(prefix="weir-picture-") as folder:
        source = os.path.join(folder, "screen.html")
        with open(source, "w", encoding="utf-8") as out:
            out.write(page(captured, columns))
        subprocess.run(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile",
             f"--window-size={size}", f"--screenshot={path}", f"file://{source}"],
            check=True, capture_output=True, timeout=60)
    return True
