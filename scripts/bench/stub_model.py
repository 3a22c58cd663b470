#!/usr/bin/env python3
"""A model server for benchmarks: OpenAI chat completions, stateless, as fast as Python allows.

The model's name carries the script: `stub-s20-l200-o0` answers 20 turns with a shell command and the next one with `task_done`,
each after 200 ms; `-o9900` makes every command print 9,900 bytes. The number of assistant turns in the request is the step.
"""
import asyncio
import json
import re
import sys

MODEL = re.compile(rb'"model"\s*:\s*"stub-s(\d+)-l(\d+)-o(\d+)"')
ASSISTANT = (b'"role":"assistant"', b'"role": "assistant"')
LENGTH = re.compile(rb"(?i)\r\ncontent-length:\s*(\d+)")


def command(step, output_bytes):
    """The shell command of a step: cheap, ordinary, the same in every run; one in five edits a source file."""
    if output_bytes:
        return f"head -c {output_bytes - 1} /dev/zero | tr '\\0' 'x'; echo"
    return ("ls -la", "head -40 pkg/mod0.py", 'grep -rn "def " pkg | head -20', f"echo '# step {step}' >> pkg/mod1.py", "git status --short")[step % 5]


def answer(body):
    """The reply to a request body, and the seconds to wait before it is sent."""
    found = MODEL.search(body, 0, 65536) or MODEL.search(body)
    steps, latency, output_bytes = (int(group) for group in found.groups()) if found else (20, 0, 0)
    step = sum(map(body.count, ASSISTANT))
    name, arguments = ("bash", {"command": command(step, output_bytes)}) if step < steps else ("task_done", {})
    call = {"id": f"call_{step}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": f"Step {step}.", "tool_calls": [call]}
    tokens = len(body) // 4
    usage = {"prompt_tokens": tokens, "completion_tokens": 40, "total_tokens": tokens + 40}
    reply = {"id": f"stub-{step}", "object": "chat.completion", "created": 1, "model": "stub", "usage": usage,
             "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    return json.dumps(reply).encode(), latency / 1000


class Connection(asyncio.Protocol):
    """One keep-alive connection."""

    def connection_made(self, transport):
        self.transport, self.received, self.needed = transport, bytearray(), 0

    def data_received(self, data):
        self.received += data
        while self.received and len(self.received) >= self.needed:
            end = self.received.find(b"\r\n\r\n")
            if end < 0:
                return
            length = LENGTH.search(self.received, 0, end)
            total = end + 4 + (int(length.group(1)) if length else 0)
            if len(self.received) < total:
                self.needed = total
                return
            body = bytes(memoryview(self.received)[end + 4:total])
            del self.received[:total]
            self.needed = 0
            reply, delay = answer(body)
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(reply)
            asyncio.get_running_loop().call_later(delay, self.transport.write, head + reply)


async def serve():
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--commands"]:
        total, output = int(sys.argv[2]), int(sys.argv[3])
        print("\n".join(command(step, output) for step in range(total)))
    else:
        asyncio.run(serve())
