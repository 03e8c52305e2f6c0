"""A slow line: 9,600 baud both ways, as far as it can be had on a pty."""

import re
import time

import words
from house import House, holds, until
from wire import Wire

# Seconds from a key to its echo that one can still work with. They are told by what is written until
# then: how fast the machine is at it, with whatever else it does, is not the line's speed.
USABLE = 4.0
# Letters that nothing else on the screen holds.
LETTERS = "жщюыэ"


def f1_over_9600_baud_it_stays_usable():
    text = " ".join(f"word{n}" for n in range(1, 121))
    house = House("slow", f"pace: 80ms\nsays: {text}\n")
    try:
        with Wire(house, baud=9600) as wire:
            began = time.monotonic()
            wire.wait("script/model")
            painted = time.monotonic() - began
            wire.quiet(0.5)
            wire.say("go")
            wire.wait(r"word3(?!\d)")
            took = []
            for letter in LETTERS:
                since = len(wire.bytes())
                wire.send(letter)
                look = lambda: wire.bytes().find(letter.encode(), since) + 1
                took.append((until(f"{letter} is shown", look) - since) / wire.rate)
            wire.wait("─ Done")
            wire.quiet(1.0)
            written = len(wire.bytes())
            worst = max(took)
            holds(worst < USABLE, f"a key is shown soon ({took})")
            # The answer as it stands in the end was written whole, whatever was left out on the way.
            missing = [n for n in range(1, 121) if not re.search(rf"word{n}(?!\d)", wire.text())]
            holds(len(missing) < 20, f"the answer came ({missing})")
            return (f"first paint {painted:.2f} s, key to screen {min(took):.2f} to {worst:.2f} s, "
                    f"{written / 120:.0f} bytes a word")
    finally:
        house.end()


f1_over_9600_baud_it_stays_usable.alone = True
