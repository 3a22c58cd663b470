#!/usr/bin/env python3
"""OpenAI's own client on our strict fake of Responses, and our requests against that client's types.

`make sdk-openai_responses` runs it with the fake's program and a directory with the bodies of all requests that our tests made; needs the
package openai.
"""

import importlib
import json
import pathlib
import pkgutil
import subprocess
import sys
import typing
import urllib.request

import openai
import openai.types
import pydantic
from openai.types import responses as types

TOOLS = [{"type": "function", "name": "bash", "description": "Runs a command.", "strict": False,
          "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}]
KEPT = {"store": False, "include": ["reasoning.encrypted_content"]}
# Sent by the service and left out of the client's types: what was asked for, and what hides the lengths of pieces.
UNTYPED = {"store", "obfuscation"}


def main(program, bodies):
    strict_types()
    server = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        client = openai.OpenAI(base_url=url, api_key="sk-test", max_retries=0)
        turns = tools(client, stream=False) + tools(client, stream=True)
        ends(client)
        refusals = errors(client)
        events = wire(url)
    finally:
        server.stdin.close()
        server.wait(10)
    print(f"openai {openai.__version__} on the fake: {turns} turns with tools, {refusals} errors, {events} events of its types")
    requests(pathlib.Path(bodies))


def tools(client, stream):
    """A conversation with reasoning and parallel calls, as the client's documentation has it: all output goes back as it came."""
    history = [{"role": "user", "content": f"solve it, streamed: {stream}"}]
    turns = 0
    while True:
        asked = {"model": "m", "input": history, "tools": TOOLS, "instructions": "Be brief.", **KEPT}
        if stream:
            with client.responses.stream(**asked) as events:
                kinds = [event.type for event in events]
                response = events.get_final_response()
            assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
        else:
            response = client.responses.create(**asked)
        turns += 1
        assert response.status == "completed" and response.usage.input_tokens_details.cached_tokens > 0
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            assert response.output_text == "All is well.", response.output_text
            assert turns == 3
            return turns
        assert response.output[0].type == "reasoning" and response.output[0].encrypted_content
        assert json.loads(calls[0].arguments)["command"]
        history += [item.model_dump(exclude_none=True) for item in response.output]
        history += [{"type": "function_call_output", "call_id": call.call_id, "output": "done"} for call in calls]


def ends(client):
    """Replies that are declined, come to no end, or fail."""
    declined = client.responses.create(model="m", input="decline")
    assert declined.output[0].content[0].refusal == "I cannot."
    for stream in False, True:
        if stream:
            with client.responses.stream(model="m", input="long") as events:
                last = list(events)[-1]
            assert last.type == "response.incomplete"
            long = last.response
        else:
            long = client.responses.create(model="m", input="long")
        assert long.status == "incomplete" and long.incomplete_details.reason == "max_output_tokens"
    failed = client.responses.create(model="m", input="fail server_error")
    assert failed.status == "failed" and failed.error.code == "server_error"
    last = list(client.responses.create(model="m", input="fail server_error", stream=True))[-1]
    assert last.type == "response.failed" and last.response.error.code == "server_error"


def errors(client):
    """What the client raises for statuses, and for requests that the service refuses."""
    call = {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": ""}
    thought = {"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "made up"}
    user = {"role": "user", "content": "x"}
    cases = [
        (openai.AuthenticationError, "invalid_api_key", {"input": "refuse 401 invalid_api_key"}),
        (openai.RateLimitError, "insufficient_quota", {"input": "refuse 429 insufficient_quota"}),
        (openai.InternalServerError, "server_error", {"input": "refuse 500 server_error"}),
        (openai.BadRequestError, "context_length_exceeded", {"input": "refuse 400 context_length_exceeded"}),
        (openai.BadRequestError, None, {"input": [user, call]}),
        (openai.BadRequestError, None, {"input": [user, output]}),
        (openai.BadRequestError, None, {"input": [user, {**thought, "encrypted_content": None}, call, output]}),
        (openai.BadRequestError, "invalid_encrypted_content", {"input": [user, thought, call, output], **KEPT}),
        (openai.BadRequestError, None, {"input": "x", "max_output_tokens": 1}),
        (openai.BadRequestError, None, {"input": "x", "extra_body": {"messages": []}}),
        (openai.BadRequestError, None, {"input": "x", "tools": [{**TOOLS[0], "strict": True}]}),
    ]
    for kind, code, asked in cases:
        for stream in False, True:
            try:
                client.responses.create(model="m", stream=stream, **asked)
            except kind as error:
                assert error.code == code, (error.code, asked)
                assert error.body["message"], asked
                continue
            raise AssertionError(f"{kind} was expected of {asked}")
    return 2 * len(cases)


def wire(url):
    """What the fake sends, against the client's types: the client itself takes almost anything."""
    whole = pydantic.TypeAdapter(types.Response)
    event = pydantic.TypeAdapter(types.ResponseStreamEvent)
    count = 0
    for prompt in "solve it", "decline", "long", "fail server_error":
        for stream in False, True:
            asked = {"model": "m", "input": prompt, "tools": TOOLS, "stream": stream, **KEPT}
            request = urllib.request.Request(f"{url}/responses", json.dumps(asked).encode(), {"content-type": "application/json"})
            with urllib.request.urlopen(request) as answer:
                text = answer.read().decode()
            if not stream:
                no_extras(whole.validate_json(text), prompt)
                continue
            numbers = []
            for block in text.strip().split("\n\n"):
                name, data = block.split("\n")
                found = event.validate_json(data.removeprefix("data: "))
                assert name == f"event: {found.type}", block
                no_extras(found, prompt)
                numbers.append(found.sequence_number)
            assert numbers == list(range(len(numbers)))
            count += len(numbers)
    return count


def no_extras(value, where):
    if isinstance(value, pydantic.BaseModel):
        extra = set(value.model_extra or {}) - UNTYPED
        assert not extra, (where, type(value).__name__, extra)
        for name in type(value).model_fields:
            no_extras(getattr(value, name), where)
    elif isinstance(value, list):
        for item in value:
            no_extras(item, where)


def strict_types():
    """Makes the types of the client's parameters as strict as they read: no unknown fields, and lists that are looked into."""
    for module in pkgutil.walk_packages(openai.types.__path__, "openai.types."):
        module = importlib.import_module(module.name)
        if hasattr(module, "Iterable"):
            module.Iterable = typing.List
        for kind in vars(module).values():
            if isinstance(kind, type) and hasattr(kind, "__total__"):
                kind.__pydantic_config__ = pydantic.ConfigDict(extra="forbid", strict=True)


def requests(directory):
    """The bodies of our requests, of which tests make some again and again."""
    from openai.types.responses import response_create_params as parameters
    kinds = {False: pydantic.TypeAdapter(parameters.ResponseCreateParamsNonStreaming),
             True: pydantic.TypeAdapter(parameters.ResponseCreateParamsStreaming)}
    self_test(kinds[False])
    bodies = {body.read_text() for body in directory.glob("responses-*.json")}
    assert bodies, "the tests made no requests"
    items = 0
    for body in bodies:
        request = json.loads(body)
        kinds[request.get("stream", False)].validate_python(request)
        items += len(request["input"])
    print(f"{len(bodies)} different requests of the tests, {items} items of input: all of the client's types")


def self_test(kind):
    """The check finds what it should find."""
    good = {"model": "m", "input": [{"role": "user", "content": "x"}, {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}]}
    kind.validate_python(good)
    for path, value in [(["extra"], 1), (["temperature"], "0"), (["input", 1, "arguments"], {}), (["input", 1, "extra"], 1), (["input", 0, "role"], "tool"),
                        (["tools"], [{"type": "function", "name": "x"}])]:
        bad = json.loads(json.dumps(good))
        place = bad
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        try:
            kind.validate_python(bad)
        except pydantic.ValidationError:
            continue
        raise AssertionError(f"{bad} was accepted")


main(*sys.argv[1:])
