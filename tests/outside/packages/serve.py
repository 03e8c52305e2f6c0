"""Serves folders as a place of releases does, and spoils what is asked for by another first word of the
path. Not here: anything about what is served.

    /cut/FOLDER/…            each archive breaks off in the middle, as a connection does
    /endless/FOLDER/…        each archive goes on without its length being told, beyond what the installer
                             takes; /endless-sums/FOLDER/… the sums
    /slow/FOLDER/…           each file comes a byte at a time, at first

Even these come to an end, and by another way than that of who stops before.

    serve.py PORT FOLDER
"""

import http.server
import os
import sys
import time

# What is spoiled, by the first word of the path: files whose names end so.
SPOILED = {"cut": ".gz", "endless": ".gz", "endless-sums": "SUMS", "slow": ""}
ENDLESS_BYTES = 600_000_000
SLOW_SECONDS = 60


class Handler(http.server.SimpleHTTPRequestHandler):
    how = ""

    def translate_path(self, path):
        first, _, rest = path.removeprefix("/").partition("/")
        self.how = first if path.endswith(SPOILED.get(first, "\0")) else ""
        return super().translate_path("/" + rest if first in SPOILED else path)

    def send_header(self, name, value):
        if not (self.how.startswith("endless") and name == "Content-Length"):
            super().send_header(name, value)

    def copyfile(self, source, outputfile):
        try:
            self.spoil(source, outputfile)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def spoil(self, source, outputfile):
        if self.how == "cut":
            outputfile.write(source.read(os.fstat(source.fileno()).st_size // 2))
        elif self.how.startswith("endless"):
            for _ in range(ENDLESS_BYTES // 1_000_000):
                outputfile.write(bytes(1_000_000))
        elif self.how == "slow":
            for byte in source.read(SLOW_SECONDS * 2):
                outputfile.write(bytes([byte]))
                time.sleep(0.5)
            outputfile.write(source.read())
        else:
            return super().copyfile(source, outputfile)
        self.close_connection = True

    def log_message(self, *_):
        pass


os.chdir(sys.argv[2])
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
