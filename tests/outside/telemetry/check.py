"""Takes in OTLP traces and judges them: check.py serve PORT FILE, then check.py judge FILE [content].

Every name that begins with gen_ai. must stand in OpenTelemetry's own list and not be deprecated
there; spans must lie below each other as they should; and what was said is there only if asked for.
"""
import gzip
import http.server
import json
import re
import sys
from pathlib import Path

CONTENT = ["quince", "apricot", "plum", "notes.md"]


def serve(port, path):
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            request = ExportTraceServiceRequest()
            request.ParseFromString(body)
            with open(path, "a") as file:
                file.write(json.dumps(MessageToDict(request)) + "\n")
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, *_):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


def conventions():
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as known

    source = Path(known.__file__).read_text()
    names = {value for key, value in vars(known).items() if key.startswith("GEN_AI") and isinstance(value, str)}
    # A name that only moved to the conventions' own repository is as good as before.
    old = re.findall(r'"(gen_ai\.[a-z_.]+)"\n"""\s*Deprecated: (?!Moved)', source)
    return names, set(old), {one.value for one in known.GenAiOperationNameValues}


def judge(path, content):
    lines = [json.loads(line) for line in open(path)]
    spans = [
        span
        for line in lines
        for resource in line["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    names, old, operations = conventions()
    assert old, "the list names what is deprecated"
    by_id = {span["spanId"]: span for span in spans}
    wrong = []
    for span in spans:
        attributes = {one["key"]: one["value"] for one in span.get("attributes", [])}
        for name in attributes:
            if name.startswith("gen_ai.") and (name not in names or name in old):
                wrong.append(f"{span['name']}: {name} is not in the conventions, or deprecated")
        operation = attributes.get("gen_ai.operation.name", {}).get("stringValue")
        if operation and operation not in operations:
            wrong.append(f"{span['name']}: operation {operation}")
        if int(span["endTimeUnixNano"]) < int(span["startTimeUnixNano"]):
            wrong.append(f"{span['name']} ends before it begins")
    parents = {"turn": "invoke_agent", "chat": "turn", "call": "turn", "gate": "call", "execute_tool": "call"}
    seen = set()
    for span in spans:
        word = span["name"].split(" ")[0]
        seen.add(word)
        parent = by_id.get(span.get("parentSpanId"), {}).get("name", "").split(" ")[0]
        if parent != parents.get(word, ""):
            wrong.append(f"{span['name']} lies below {parent or 'nothing'}")
    wrong += [f"there is no span {word}" for word in {*parents, "invoke_agent"} - seen]
    text = json.dumps(lines)
    for word in CONTENT:
        if (word in text) != content:
            wrong.append(f"{word} is {'missing' if content else 'told'}")
    print("\n".join(wrong) or f"{len(spans)} spans are as they should be")
    return bool(wrong)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]), sys.argv[3])
    sys.exit(judge(sys.argv[2], "content" in sys.argv[3:]))
