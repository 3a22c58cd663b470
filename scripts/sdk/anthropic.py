"""Drives the strict fake of Anthropic's messages with the vendor's own client, then validates the bodies of our requests against its types.

Usage: python -P scripts/sdk/anthropic.py FAKE BODIES

FAKE is the built example `strict_anthropic` of the crate `testkit`, BODIES a directory of bodies that tests kept (PATCHMILL_KEEP_BODIES).
`make sdk-anthropic` does it all; `-P` keeps this file from hiding the package of its name.
"""

import inspect
import json
import subprocess
import sys
import typing
from pathlib import Path

import anthropic
import pydantic
import typing_extensions
from anthropic import types

MODEL = "claude-opus-5"
TOOLS = [
    {
        "name": name,
        "description": f"Tells the {name}.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    for name in ("weather", "clock")
]
# Parameters that the version we ask for has, and that this client's later version took away.
OF_THE_FIRST_VERSION = {"temperature", "top_k", "top_p"}
checks = 0


def check(what, holds):
    global checks
    checks += 1
    if not holds:
        raise SystemExit(f"FAILED: {what}")


def ask(client, streamed, messages, **more):
    request = dict(model=MODEL, max_tokens=4000, messages=messages, **more)
    if not streamed:
        return client.messages.create(**request)
    with client.messages.stream(**request) as stream:
        return stream.get_final_message()


def say(prompt):
    return [{"role": "user", "content": prompt}]


def tools(client, streamed):
    """A conversation with thoughts and parallel calls; what came is sent back by the client's own means."""
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    messages = say(f"tools {streamed}")
    seen = []
    while True:
        marked = messages[:-1] + [mark(messages[-1])]
        reply = ask(client, streamed, marked, tools=TOOLS, system=system)
        seen.append([block.to_dict() for block in reply.content])
        usage = reply.usage
        check("the cache is read after the first request", usage.cache_read_input_tokens > 0 or len(seen) == 1)
        check("thoughts are counted", (usage.output_tokens_details.thinking_tokens > 0) == (len(seen) == 1))
        calls = [block for block in reply.content if block.type == "tool_use"]
        if reply.stop_reason != "tool_use":
            check("the end is an end", reply.stop_reason == "end_turn" and not calls)
            return seen
        messages.append(reply.to_param())
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "fine"} for call in calls]
        messages.append({"role": "user", "content": results})


def mark(message):
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    last = {**content[-1], "cache_control": {"type": "ephemeral"}}
    return {"role": "user", "content": content[:-1] + [last]}


def conversations(client):
    whole, streamed = tools(client, False), tools(client, True)
    check("streamed and whole are the same", whole == streamed)
    kinds = [block["type"] for block in whole[0]]
    check("kinds of blocks", kinds == ["thinking", "redacted_thinking", "tool_use", "tool_use"])
    check("arguments", whole[0][2]["input"] == {"city": "Köln", "days": [1, 2.5]})
    check("no arguments", whole[1][1]["input"] == {})
    check("text", whole[2] == [{"type": "text", "text": "All done — ü."}])
    for streamed in (False, True):
        reply = ask(client, streamed, say("refuse"))
        check("a refusal", reply.stop_reason == "refusal" and reply.stop_details.explanation == "Not this.")
        for reason in ("max_tokens", "pause_turn", "model_context_window_exceeded"):
            check(reason, ask(client, streamed, say(f"stop {reason}")).stop_reason == reason)


def failures(client, patient):
    classes = {
        "400": anthropic.BadRequestError,
        "401": anthropic.AuthenticationError,
        "403": anthropic.PermissionDeniedError,
        "404": anthropic.NotFoundError,
        "413": anthropic.APIStatusError,
        "429": anthropic.RateLimitError,
        "500": anthropic.InternalServerError,
        "529": anthropic.APIStatusError,
        "billing": anthropic.APIStatusError,
        "stream": anthropic.APIStatusError,
        "cut": Exception,
    }
    for name, wanted in classes.items():
        prompt = f"fail {name}"
        try:
            ask(client, True, say(prompt))
            check(f"{prompt} fails", False)
        except wanted as error:
            if isinstance(error, anthropic.APIStatusError):
                inner = error.body["error"]["type"]
                check(f"{prompt}: {inner}", name != "stream" or inner == "overloaded_error")
                check(f"{prompt}: status", not name.isdigit() or error.status_code == int(name))
            else:
                check(f"{prompt}: {error!r}", name == "cut")
        check(f"{prompt}, asked again", ask(client, False, say(prompt)).content[0].text == "at last")
    for name in ("429", "500", "529"):
        check("the client's own retries", ask(patient, False, say(f"fail {name} once")).content[0].text == "at last")


def refusals(client):
    """Requests that the real service refuses, by the client's own way of sending."""
    call = {"type": "tool_use", "id": "a", "name": "weather", "input": {}}
    thought = {"type": "thinking", "thinking": "x", "signature": "forged"}
    bad = [
        dict(messages=say("x") + [{"role": "assistant", "content": [call]}] + say("y")),
        dict(messages=say("x") + [{"role": "assistant", "content": [thought, {"type": "text", "text": "t"}]}] + say("y")),
        dict(messages=[{"role": "assistant", "content": "x"}]),
        dict(messages=say("x"), extra_body={"unknown": 1}),
        dict(messages=say("x"), extra_body={"temperature": 1.0}),
        dict(messages=say("x"), tools=[{"name": "a b", "input_schema": {"type": "object"}}]),
    ]
    for request in bad:
        try:
            client.messages.create(model=MODEL, max_tokens=10, **{"tools": TOOLS, **request})
            check(f"{request} is refused", False)
        except anthropic.BadRequestError as error:
            check("a reason", error.body["error"]["type"] == "invalid_request_error")
    return len(bad)


def drive(fake):
    process = subprocess.Popen([fake], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = process.stdout.readline().strip()
    client = anthropic.Anthropic(base_url=url, api_key="key", max_retries=0)
    conversations(client)
    failures(client, client.with_options(max_retries=2))
    refused = refusals(client)
    violations = process.communicate()[0].splitlines()
    check(f"only what should be refused is: {violations}", len(violations) == refused)
    print(f"{checks} checks of the fake by the client {anthropic.__version__}; it refused {refused} bad requests and nothing else")


def forbid_unknown_fields():
    """Typed dictionaries let unknown fields pass unless told otherwise."""
    for module in list(sys.modules.values()):
        if not (module.__name__ or "").startswith("anthropic.types"):
            continue
        for kind in vars(module).values():
            if inspect.isclass(kind) and typing_extensions.is_typeddict(kind) and not hasattr(kind, "__pydantic_config__"):
                kind.__pydantic_config__ = pydantic.ConfigDict(extra="forbid")


def exhaust(value):
    """Lists are only looked at when they are walked."""
    if isinstance(value, dict):
        for item in value.values():
            exhaust(item)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for item in value:
            exhaust(item)


def validate(directory):
    forbid_unknown_fields()
    request = pydantic.TypeAdapter(
        typing.Union[
            types.message_create_params.MessageCreateParamsNonStreaming,
            types.message_create_params.MessageCreateParamsStreaming,
        ]
    )
    for bad in ({}, {"unknown": 1}, {"messages": [{"role": "user", "content": [{"type": "text"}]}]}, {"messages": [{"role": "x", "content": "y"}]}):
        try:
            exhaust(request.validate_python({"model": "m", "max_tokens": 1, **({"messages": []} if "unknown" in bad else {}), **bad}))
        except pydantic.ValidationError:
            continue
        check(f"the types refuse {bad}", False)
    paths = sorted(Path(directory).glob("messages-*.json"))
    bodies = {path.read_text(): path for path in paths}
    blocks = 0
    for text, path in bodies.items():
        body = json.loads(text)
        blocks += sum(len(message["content"]) for message in body["messages"])
        body = {name: value for name, value in body.items() if name not in OF_THE_FIRST_VERSION}
        try:
            exhaust(request.validate_python(body))
        except pydantic.ValidationError as error:
            raise SystemExit(f"FAILED: {path}: {error}")
    check("there are bodies", bodies)
    print(f"{len(bodies)} different bodies of {len(paths)}, with {blocks} blocks, fit the client's types")


drive(sys.argv[1])
validate(sys.argv[2])
