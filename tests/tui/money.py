"""Money in the face: what the session and the day cost, what the cache missed and why, and the caps. The
vendor is played by a server of the test."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import picture
import words
from house import House
from screen import Terminal
from shots import KEPT, ROOT

PICTURE = "docs/screens/tui-cost.png"
WIDTH = 100
SETTINGS = """model = "acme/large"
[spending]
day_usd = 1.0
[providers.acme]
dialect = "openai-chat"
base_url = "http://127.0.0.1:{port}/v1"
[models."acme/large"]
window = 200000
max_output = 1000
abilities = ["tools"]
price = {{ input = 2.0, output = 10.0, cache_read = 0.2 }}
"""


def piece(**more):
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
    return f"data: {json.dumps({**chunk, **more})}\n\n"


def reply():
    """One sentence, for fifty thousand tokens of which the cache had none."""
    said = {"index": 0, "delta": {"role": "assistant", "content": "Hello there."}, "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 50_000, "completion_tokens": 100, "total_tokens": 50_100,
             "prompt_tokens_details": {"cached_tokens": 0}}
    return piece(choices=[said]) + piece(choices=[ended]) + piece(usage=usage) + "data: [DONE]\n\n"


class Vendor(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = reply().encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def r11_what_a_session_cost_and_what_its_cache_missed_is_told_with_its_cause():
    vendor = ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
    threading.Thread(target=vendor.serve_forever, daemon=True).start()
    house = House("money")
    try:
        with open(os.path.join(house.folder, "config/weir/config.toml"), "w") as out:
            out.write(SETTINGS.format(port=vendor.server_address[1]))
        house.weir("run", "--quiet", "Say hello.")
        with Terminal(house, size=(WIDTH, 24)) as term:
            term.start("--resume", house.session(), ready=words.READY)
            term.say("Once more.")
            house.wait_fact("run.finished", times=2)
            term.gone(words.BUSY)
            term.say("/cost")
            term.wait(r"This session: \$0\.\d{4}")
            term.wait(r"50000 tokens not from the cache, \$0\.0900 more: Weir was started again")
            term.wait(r"(?s)Today .*acme/large: \$0\.\d{4}")
            term.wait(r"spending\.day_usd: \$0\.\d\d of \$1\.00 today")
            if KEPT:
                picture.photograph(term.coloured(), WIDTH, os.path.join(ROOT, PICTURE))
    finally:
        vendor.shutdown()
        house.end()
