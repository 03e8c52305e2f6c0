"""Runs the tests of the screen and counts. Not here: any test."""

import concurrent.futures
import importlib
import os
import sys
import time
import traceback

from house import Failed

# Where tests are. A test is a function whose name begins with a requirement.
MODULES = ("talking", "approving", "one_question", "typing_", "clipboard", "sessions", "leaving", "lines",
           "deciding", "money", "hostile", "attached", "first", "fingers", "line_speed", "shots")
BEGINNINGS = ("f1_", "f7_", "g4_", "l12_", "r10_", "r11_", "u08_", "z10_")


def tests(words):
    for module in MODULES:
        for name, test in vars(importlib.import_module(module)).items():
            if name.startswith(BEGINNINGS) and (not words or any(w in name for w in words)):
                yield name, test


def ran(name, test):
    began = time.monotonic()
    try:
        note = test()
    except Failed as failed:
        return name, time.monotonic() - began, None, str(failed)
    except Exception:  # A bug of the test is shown like a failure.
        return name, time.monotonic() - began, None, traceback.format_exc()
    return name, time.monotonic() - began, note, None


def main():
    chosen = list(tests(sys.argv[1:]))
    # Those that measure run alone, after all others.
    alone = [one for one in chosen if getattr(one[1], "alone", False)]
    together = [one for one in chosen if one not in alone]
    passed = failed = 0
    jobs = int(os.environ.get("WEIR_TUI_JOBS", "3"))

    def told(result):
        nonlocal passed, failed
        name, took, note, why = result
        if why is None:
            passed += 1
            print(f"ok    {name} ({took:.1f} s){': ' + note if note else ''}", flush=True)
        else:
            failed += 1
            print(f"FAIL  {name} ({took:.1f} s)\n{why}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(ran, *one) for one in together]):
            told(done.result())
    for one in alone:
        told(ran(*one))
    print(f"tui: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
