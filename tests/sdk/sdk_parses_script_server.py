"""The vendors' official SDKs talk to a script server and check every word they get.

    sdk_parses_script_server.py BASE_URL

BASE_URL is where `all.script` (beside this file) is served: by `weir script serve` or by the
example `script_serve`. Exits 1 and names what differs; prints one line for each check.
"""

import json
import sys
import traceback

import anthropic
import openai
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

BASE = sys.argv[1].rstrip("/")
THOUGHT = "I should look at both files first."
TEXT = "Let me look.\n\nGrüße – at both: \"a\" and 'b'."
FIRST = {"path": "a.txt", "lines": [1, 2], "deep": {"ü": None}}
SECOND = {"path": "b.txt"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
LONG = "".join(f"word {n} and" for n in range(1, 501))
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


# Errors that come before a reply come once for the same request, so each asker has its own words.


def same(found, expected, what):
    assert found == expected, f"{what}: found {found!r}, expected {expected!r}"


def raises(kinds, function):
    try:
        function()
    except kinds as error:
        return error
    except Exception as error:
        raise AssertionError(f"expected {kinds}, got {type(error).__name__}: {error}") from error
    raise AssertionError(f"expected {kinds}, nothing was raised")


# ---------------------------------------------------------------- Anthropic Messages

claude = anthropic.Anthropic(base_url=BASE, api_key="test", max_retries=0, timeout=120)
CLAUDE_TOOLS = [{"name": "read_file", "description": "Reads.", "input_schema": SCHEMA}]


def ask_claude(prompt, messages=None, **more):
    return dict(
        model="judged",
        max_tokens=1000,
        messages=messages or [{"role": "user", "content": prompt}],
        tools=CLAUDE_TOOLS,
        **more,
    )


def claude_parallel(message):
    same([b.type for b in message.content], ["thinking", "text", "tool_use", "tool_use"], "blocks")
    thinking, text, one, two = message.content
    same(thinking.thinking, THOUGHT, "thinking")
    assert thinking.signature, "a thinking block must be signed"
    same(text.text, TEXT, "text")
    same((one.name, one.input), ("read_file", FIRST), "first call")
    same((two.name, two.input), ("read_file", SECOND), "second call")
    assert one.id != two.id and one.id.startswith("toolu_"), "ids of calls"
    same(message.stop_reason, "tool_use", "stop")
    usage = message.usage
    same(
        (usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens,
         usage.cache_creation_input_tokens),
        (1200, 40, 1000, 30),
        "usage",
    )
    same(message.model, "judged", "model")


@check
def anthropic_streams_thinking_text_and_parallel_calls():
    kinds = []
    with claude.messages.stream(**ask_claude("parallel")) as stream:
        for event in stream:
            kinds.append(event.type)
        message = stream.get_final_message()
    claude_parallel(message)
    for kind in ["message_start", "content_block_start", "thinking", "signature", "text",
                 "input_json", "content_block_stop", "message_delta", "message_stop"]:
        assert kind in kinds, f"no {kind} event in {sorted(set(kinds))}"
    assert kinds.count("text") > 2, "the text must come in several pieces"


@check
def anthropic_answers_without_a_stream():
    claude_parallel(claude.messages.create(**ask_claude("parallel")))


@check
def anthropic_takes_results():
    first = claude.messages.create(**ask_claude("parallel"))
    results = [
        {"type": "tool_result", "tool_use_id": b.id, "content": f"content of {b.input['path'][0]}"}
        for b in first.content if b.type == "tool_use"
    ]
    messages = [
        {"role": "user", "content": "parallel"},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": results},
    ]
    with claude.messages.stream(**ask_claude("", messages)) as stream:
        final = stream.get_final_message()
    same([b.text for b in final.content], ["Both are there."], "text")
    same(final.stop_reason, "end_turn", "stop")


@check
def anthropic_stops():
    for prompt, text, stop in [("long", LONG, "max_tokens"),
                               ("refuse", "I will not do that.", "refusal"),
                               ("paced", "one two three four five", "end_turn")]:
        with claude.messages.stream(**ask_claude(prompt)) as stream:
            final = stream.get_final_message()
        same((final.content[0].text, final.stop_reason), (text, stop), prompt)


@check
def anthropic_errors_have_their_class():
    create = lambda prompt: lambda: claude.messages.create(**ask_claude(prompt), stream=True)
    for prompt, kind in [("status 400", anthropic.BadRequestError),
                         ("status 401", anthropic.AuthenticationError),
                         ("status 403", anthropic.PermissionDeniedError),
                         ("status 404", anthropic.NotFoundError),
                         ("status 500", anthropic.InternalServerError),
                         ("overflow", anthropic.BadRequestError),
                         ("safety", anthropic.BadRequestError),
                         ("wants", anthropic.BadRequestError),
                         ("network", anthropic.APIConnectionError)]:
        error = raises(kind, create(prompt))
        if prompt == "overflow":
            assert "prompt is too long" in str(error), error
        if prompt == "wants":
            assert "something that is not there" in str(error), error
    error = raises(anthropic.RateLimitError, create("rate for anthropic"))
    same(error.response.headers["retry-after"], "7", "retry-after")
    same(error.body["error"], {"type": "rate_limit_error", "message": "Slow down, please."}, "body")
    error = raises(anthropic.APIStatusError, create("rate for anthropic"))
    same((error.status_code, error.body["error"]["type"]), (529, "overloaded_error"), "second")
    final = claude.messages.create(**ask_claude("rate for anthropic"))
    same(final.content[0].text, "after the errors", "after the errors")


@check
def anthropic_streams_that_break():
    def read(prompt):
        with claude.messages.stream(**ask_claude(prompt)) as stream:
            stream.get_final_message()

    error = raises(anthropic.APIStatusError, lambda: read("midstream for anthropic"))
    assert "verloaded" in str(error), error
    raises(Exception, lambda: read("reset for anthropic"))


@check
def anthropic_counts_and_lists():
    counted = claude.messages.count_tokens(
        model="judged", messages=[{"role": "user", "content": "some words"}]
    )
    assert counted.input_tokens > 0
    same([model.id for model in claude.models.list()], ["judged"], "models")


# ---------------------------------------------------------------- OpenAI Chat Completions

gpt = openai.OpenAI(base_url=BASE + "/v1", api_key="test", max_retries=0, timeout=120)
CHAT_TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}]


def ask_chat(prompt, messages=None):
    return dict(
        model="judged",
        messages=messages or [{"role": "user", "content": prompt}],
        tools=CHAT_TOOLS,
    )


def chat_parallel(completion):
    choice = completion.choices[0]
    same(choice.finish_reason, "tool_calls", "stop")
    same(choice.message.content, TEXT, "text")
    one, two = choice.message.tool_calls
    same((one.function.name, json.loads(one.function.arguments)), ("read_file", FIRST), "call")
    same((two.function.name, json.loads(two.function.arguments)), ("read_file", SECOND), "call")
    assert one.id != two.id, "ids of calls"
    usage = completion.usage
    same(
        (usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens,
         usage.completion_tokens_details.reasoning_tokens),
        (2230, 40, 1000, 12),
        "usage",
    )


@check
def chat_streams_text_and_parallel_calls():
    with gpt.chat.completions.stream(
        **ask_chat("parallel"), stream_options={"include_usage": True}
    ) as stream:
        deltas = [event for event in stream if event.type == "content.delta"]
        completion = stream.get_final_completion()
    chat_parallel(completion)
    assert len(deltas) > 2, "the text must come in several pieces"


@check
def chat_streams_reasoning_where_others_put_it():
    stream = gpt.chat.completions.create(**ask_chat("parallel"), stream=True)
    thought = ""
    for chunk in stream:
        same(chunk.usage, None, "usage that was not asked for")
        if chunk.choices:
            thought += getattr(chunk.choices[0].delta, "reasoning_content", None) or ""
    same(thought, THOUGHT, "reasoning")


@check
def chat_answers_without_a_stream():
    chat_parallel(gpt.chat.completions.create(**ask_chat("parallel")))


@check
def chat_takes_results():
    first = gpt.chat.completions.create(**ask_chat("parallel")).choices[0].message
    messages = [{"role": "user", "content": "parallel"}, first] + [
        {"role": "tool", "tool_call_id": call.id,
         "content": f"content of {json.loads(call.function.arguments)['path'][0]}"}
        for call in first.tool_calls
    ]
    final = gpt.chat.completions.create(**ask_chat("", messages))
    same(final.choices[0].message.content, "Both are there.", "text")
    same(final.choices[0].finish_reason, "stop", "stop")


@check
def chat_stops():
    long = gpt.chat.completions.create(**ask_chat("long")).choices[0]
    same((long.message.content, long.finish_reason), (LONG, "length"), "long")
    refused = gpt.chat.completions.create(**ask_chat("refuse")).choices[0]
    same(
        (refused.message.refusal, refused.finish_reason),
        ("I will not do that.", "content_filter"),
        "refusal",
    )


OPENAI_ERRORS = [
    ("status 400", openai.BadRequestError, None),
    ("status 401", openai.AuthenticationError, "invalid_api_key"),
    ("status 403", openai.PermissionDeniedError, None),
    ("status 404", openai.NotFoundError, "model_not_found"),
    ("status 500", openai.InternalServerError, None),
    ("overflow", openai.BadRequestError, "context_length_exceeded"),
    ("safety", openai.BadRequestError, "content_policy_violation"),
    ("wants", openai.BadRequestError, None),
    ("network", openai.APIConnectionError, None),
]


def openai_errors(create, name):
    for prompt, kind, code in OPENAI_ERRORS:
        error = raises(kind, lambda: create(prompt))
        if code:
            same(error.code, code, prompt)
    error = raises(openai.RateLimitError, lambda: create("rate for " + name))
    same(error.response.headers["retry-after"], "7", "retry-after")
    assert "Slow down, please." in str(error), error
    raises(openai.InternalServerError, lambda: create("rate for " + name))
    create("rate for " + name)


@check
def chat_errors_have_their_class():
    openai_errors(lambda p: gpt.chat.completions.create(**ask_chat(p), stream=True), "chat")


@check
def chat_streams_that_break():
    def read(prompt):
        for _ in gpt.chat.completions.create(**ask_chat(prompt), stream=True):
            pass

    raises(openai.APIError, lambda: read("midstream for chat"))
    raises(Exception, lambda: read("reset for chat"))


# ---------------------------------------------------------------- OpenAI Responses

RESPONSES_TOOLS = [
    {"type": "function", "name": "read_file", "parameters": SCHEMA, "strict": False}
]


def ask_responses(prompt, items=None):
    return dict(model="judged", input=items or prompt, tools=RESPONSES_TOOLS)


def responses_parallel(response):
    same(response.status, "completed", "status")
    kinds = [item.type for item in response.output]
    same(kinds, ["reasoning", "message", "function_call", "function_call"], "items")
    reasoning, _, one, two = response.output
    same(reasoning.summary[0].text, THOUGHT, "reasoning")
    assert reasoning.encrypted_content, "reasoning must come sealed"
    same(response.output_text, TEXT, "text")
    same((one.name, json.loads(one.arguments)), ("read_file", FIRST), "first call")
    same((two.name, json.loads(two.arguments)), ("read_file", SECOND), "second call")
    assert one.call_id != two.call_id, "ids of calls"
    usage = response.usage
    same(
        (usage.input_tokens, usage.output_tokens, usage.input_tokens_details.cached_tokens,
         usage.output_tokens_details.reasoning_tokens),
        (2230, 40, 1000, 12),
        "usage",
    )


@check
def responses_stream_reasoning_text_and_parallel_calls():
    events = []
    with gpt.responses.stream(**ask_responses("parallel")) as stream:
        for event in stream:
            events.append(event)
        response = stream.get_final_response()
    responses_parallel(response)
    same([event.sequence_number for event in events if hasattr(event, "sequence_number")],
         list(range(len(events))), "sequence numbers")
    kinds = {event.type for event in events}
    for kind in ["response.created", "response.in_progress", "response.output_item.added",
                 "response.reasoning_summary_text.delta", "response.content_part.added",
                 "response.output_text.delta", "response.output_text.done",
                 "response.content_part.done", "response.function_call_arguments.delta",
                 "response.function_call_arguments.done", "response.output_item.done",
                 "response.completed"]:
        assert kind in kinds, f"no {kind} in {sorted(kinds)}"


@check
def responses_answer_without_a_stream():
    responses_parallel(gpt.responses.create(**ask_responses("parallel")))


@check
def responses_take_results():
    first = gpt.responses.create(**ask_responses("parallel"))
    items = [{"role": "user", "content": "parallel"}]
    items += [item.model_dump(exclude_none=True) for item in first.output]
    items += [
        {"type": "function_call_output", "call_id": item.call_id,
         "output": f"content of {json.loads(item.arguments)['path'][0]}"}
        for item in first.output if item.type == "function_call"
    ]
    final = gpt.responses.create(**ask_responses("", items))
    same(final.output_text, "Both are there.", "text")


@check
def responses_stop():
    long = gpt.responses.create(**ask_responses("long"))
    same((long.output_text, long.status, long.incomplete_details.reason),
         (LONG, "incomplete", "max_output_tokens"), "long")
    with gpt.responses.stream(**ask_responses("refuse")) as stream:
        kinds = {event.type for event in stream}
        refused = stream.get_final_response()
    same(refused.output[0].content[0].refusal, "I will not do that.", "refusal")
    assert "response.refusal.delta" in kinds, kinds


@check
def responses_errors_have_their_class():
    openai_errors(lambda p: gpt.responses.create(**ask_responses(p), stream=True), "responses")


@check
def responses_streams_that_break():
    def read(prompt):
        return [event.type for event in gpt.responses.create(**ask_responses(prompt), stream=True)]

    same(read("midstream for responses")[-1], "response.failed", "last event")
    raises(Exception, lambda: read("reset for responses"))


# ---------------------------------------------------------------- Gemini

gemini = genai.Client(
    api_key="test",
    http_options=genai_types.HttpOptions(base_url=BASE, timeout=120_000),
)
GEMINI_CONFIG = genai_types.GenerateContentConfig(
    tools=[
        genai_types.Tool(
            function_declarations=[
                genai_types.FunctionDeclaration(
                    name="read_file", description="Reads.", parameters_json_schema=SCHEMA
                )
            ]
        )
    ],
    automatic_function_calling=genai_types.AutomaticFunctionCallingConfig(disable=True),
)


def ask_gemini(contents):
    return dict(model="judged", contents=contents, config=GEMINI_CONFIG)


def gemini_parallel(parts, last):
    same("".join(p.text for p in parts if p.text and p.thought), THOUGHT, "thought")
    same("".join(p.text for p in parts if p.text and not p.thought), TEXT, "text")
    calls = [p for p in parts if p.function_call]
    same([(p.function_call.name, p.function_call.args) for p in calls],
         [("read_file", FIRST), ("read_file", SECOND)], "calls")
    assert calls[0].thought_signature and not calls[1].thought_signature, "the first is signed"
    same(last.candidates[0].finish_reason, genai_types.FinishReason.STOP, "stop")
    usage = last.usage_metadata
    same(
        (usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count,
         usage.cached_content_token_count, usage.total_token_count),
        (2230, 28, 12, 1000, 2270),
        "usage",
    )


@check
def gemini_streams_thought_text_and_parallel_calls():
    chunks = list(gemini.models.generate_content_stream(**ask_gemini("parallel")))
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    gemini_parallel(parts, chunks[-1])
    assert len(chunks) > 5, "the reply must come in several pieces"


@check
def gemini_answers_without_a_stream():
    response = gemini.models.generate_content(**ask_gemini("parallel"))
    gemini_parallel(response.candidates[0].content.parts, response)


@check
def gemini_takes_results():
    first = gemini.models.generate_content(**ask_gemini("parallel")).candidates[0].content
    results = [
        genai_types.Part.from_function_response(
            name=part.function_call.name,
            response={"output": f"content of {part.function_call.args['path'][0]}"},
        )
        for part in first.parts if part.function_call
    ]
    prompt = genai_types.Content(role="user", parts=[genai_types.Part(text="parallel")])
    contents = [prompt, first, genai_types.Content(role="user", parts=results)]
    same(gemini.models.generate_content(**ask_gemini(contents)).text, "Both are there.", "text")


@check
def gemini_stops():
    long = gemini.models.generate_content(**ask_gemini("long"))
    same((long.text, long.candidates[0].finish_reason),
         (LONG, genai_types.FinishReason.MAX_TOKENS), "long")
    refused = gemini.models.generate_content(**ask_gemini("refuse"))
    same(refused.candidates[0].finish_reason, genai_types.FinishReason.SAFETY, "refusal")
    chunks = list(gemini.models.generate_content_stream(**ask_gemini("safety")))
    same(chunks[-1].prompt_feedback.block_reason, genai_types.BlockedReason.SAFETY, "safety")


@check
def gemini_errors_have_their_class():
    def create(prompt):
        return lambda: list(gemini.models.generate_content_stream(**ask_gemini(prompt)))

    for prompt, kind, code, status in [
        ("status 400", genai_errors.ClientError, 400, "INVALID_ARGUMENT"),
        ("status 401", genai_errors.ClientError, 401, "UNAUTHENTICATED"),
        ("status 403", genai_errors.ClientError, 403, "PERMISSION_DENIED"),
        ("status 404", genai_errors.ClientError, 404, "NOT_FOUND"),
        ("status 500", genai_errors.ServerError, 500, "INTERNAL"),
        ("overflow", genai_errors.ClientError, 400, "INVALID_ARGUMENT"),
        ("wants", genai_errors.ClientError, 400, "INVALID_ARGUMENT"),
        ("rate for gemini", genai_errors.ClientError, 429, "RESOURCE_EXHAUSTED"),
        ("rate for gemini", genai_errors.ServerError, 529, "UNAVAILABLE"),
    ]:
        error = raises(kind, create(prompt))
        same((error.code, error.status), (code, status), prompt)
    chunks = create("rate for gemini")()
    same("".join(chunk.text or "" for chunk in chunks), "after the errors", "after the errors")
    raises(Exception, create("network"))
    raises(Exception, create("reset for gemini"))


@check
def gemini_counts_and_lists():
    assert gemini.models.count_tokens(model="judged", contents="some words").total_tokens > 0
    same([model.name for model in gemini.models.list()], ["models/judged"], "models")


def main():
    failed = 0
    for function in CHECKS:
        try:
            function()
            print("ok    ", function.__name__)
        except Exception:
            failed += 1
            print("FAILED", function.__name__)
            traceback.print_exc()
    print(f"{len(CHECKS)} checks, {failed} failed")
    sys.exit(failed > 0)


main()
