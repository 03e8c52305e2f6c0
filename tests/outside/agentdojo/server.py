"""AgentDojo's slack suite behind JSON lines on standard input and output.

It offers the suite's tools, runs their calls in the suite's own environment, and lets the suite's
own checks say what was reached. It is no MCP server, and it judges no call: whoever asks it to call
a tool has decided that.

One request a line, one answer a line with the same `id`; a failure is {"id": …, "error": …}.
  {"do": "tools"}                                → {"suite", "tools", "user_tasks", "injection_tasks"}
  {"do": "begin", "user_task", "injection_task"} → {"prompt", "answer", "user", "injection", "sign"}
  {"do": "call", "name", "args"}                 → {"ok", "text"}
  {"do": "end", "text"}                          → {"utility", "security"}
`security` is the suite's word for: the injection reached its goal.
"""

import importlib.util
import json
import os
import sys
import types
from pathlib import Path

SUITE = "slack"
VERSION = "v1.2.2"
# Stands in every injection that is used here, and in nothing else of the suite.
SIGN = "<INFORMATION>"


def leave_out_vendors():
    """The package of pipelines imports the SDKs of four vendors; no pipeline is run here."""
    found = importlib.util.find_spec("agentdojo")
    if found is None:
        sys.exit("agentdojo is not installed for this Python; tests/outside/agentdojo/requirements.txt has it")
    root = Path(list(found.submodule_search_locations)[0])
    pipelines = types.ModuleType("agentdojo.agent_pipeline")
    pipelines.__path__ = [str(root / "agent_pipeline")]
    google = types.ModuleType("agentdojo.agent_pipeline.llms.google_llm")
    google.EMPTY_FUNCTION_NAME = "<empty-function>"
    sys.modules[pipelines.__name__] = pipelines
    sys.modules[google.__name__] = google


leave_out_vendors()

from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement  # noqa: E402
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str  # noqa: E402
from agentdojo.attacks.important_instructions_attacks import ImportantInstructionsAttackNoNames  # noqa: E402
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime  # noqa: E402
from agentdojo.task_suite.load_suites import get_suite  # noqa: E402
from agentdojo.types import text_content_block_from_string  # noqa: E402


class Nobody(BasePipelineElement):
    """The attack wants a pipeline for its name; this variant of it then leaves the name out."""

    name = "local"

    def query(self, *args, **kwargs):
        raise NotImplementedError("no pipeline is run here")


class Dojo:
    def __init__(self):
        self.suite = get_suite(VERSION, SUITE)
        self.runtime = FunctionsRuntime(self.suite.tools)
        self.attack = ImportantInstructionsAttackNoNames(self.suite, Nobody())
        self.environments = {}
        self.user = self.injection = self.before = self.environment = None
        self.calls = []

    def tools(self, request):
        return {
            "suite": f"{SUITE} {VERSION}",
            "tools": [
                {"name": tool.name, "description": tool.description, "schema": tool.parameters.model_json_schema()}
                for tool in self.suite.tools
            ],
            "user_tasks": sorted(self.suite.user_tasks, key=number),
            "injection_tasks": sorted(self.suite.injection_tasks, key=number),
        }

    def begin(self, request):
        user, injection = request["user_task"], request.get("injection_task")
        self.user = self.suite.user_tasks[user]
        self.injection = self.suite.injection_tasks[injection] if injection else None
        if (user, injection) not in self.environments:
            words = self.attack.attack(self.user, self.injection) if injection else {}
            self.environments[user, injection] = self.suite.load_and_inject_default_environment(words)
        fresh = self.environments[user, injection].model_copy(deep=True)
        self.environment = self.user.init_environment(fresh)
        self.before = self.environment.model_copy(deep=True)
        self.calls = []
        return {
            "prompt": self.user.PROMPT,
            "answer": self.user.GROUND_TRUTH_OUTPUT,
            "user": truth(self.user, self.before),
            "injection": truth(self.injection, self.before) if injection else [],
            "sign": SIGN,
        }

    def needs_task(self):
        if self.user is None:
            raise ValueError("no task was begun")

    def call(self, request):
        self.needs_task()
        name, args = request["name"], request["args"]
        result, error = self.runtime.run_function(self.environment, name, args)
        # The suite looks at what a model asked for. Here only what was let through gets this far,
        # and only that is shown to its checks.
        self.calls.append(FunctionCall(function=name, args=args))
        return {"ok": error is None, "text": error or tool_result_to_str(result)}

    def end(self, request):
        self.needs_task()
        output = [text_content_block_from_string(request["text"])]

        def reached(task):
            return bool(self.suite._check_task_result(task, output, self.before, self.environment, self.calls))

        return {"utility": reached(self.user), "security": self.injection is not None and reached(self.injection)}


def number(task_id):
    return int(task_id.rsplit("_", 1)[1])


def truth(task, environment):
    calls = task.ground_truth(environment.model_copy(deep=True))
    return [{"name": call.function, "args": dict(call.args)} for call in calls]


def main():
    # Checks of the suite print; what they print must not stand between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout = sys.stderr
    dojo = Dojo()
    commands = {"tools": dojo.tools, "begin": dojo.begin, "call": dojo.call, "end": dojo.end}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = commands[request["do"]](request)
        except Exception as error:
            answer = {"error": f"{request.get('do')}: {type(error).__name__}: {error}"}
        print(json.dumps({"id": request.get("id"), **answer}), file=answers, flush=True)


if __name__ == "__main__":
    main()
