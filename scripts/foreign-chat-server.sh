#!/bin/sh
# Runs a command beside a chat-completions server that is not ours: fakellm (PyPI), installed into a temporary
# environment and removed again. It says what RULES (its own YAML) tell it to; `turn: N` there is the N-th request of the
# conversation that starts with a prompt, so a second run with the same prompt needs a new server. The command finds the
# address in FOREIGN_CHAT_URL, and in place of the word {url} in its arguments.
#
#   scripts/foreign-chat-server.sh crates/model/tests/foreign_rules.yaml cargo test -p model foreign
#   scripts/foreign-chat-server.sh RULES runner run --model openai:any --base-url {url} …
set -eu

version=0.3.5
if [ $# -lt 2 ]; then
    echo "usage: $0 RULES COMMAND [ARGUMENT…]" >&2
    exit 2
fi
rules=$1
shift

work=$(mktemp -d)
server=
finish() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "fakellm==$version"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$work/venv/bin/fakellm" serve --port "$port" --config "$rules" >"$work/log" 2>&1 &
server=$!
if ! python3 - "$port" <<'PYTHON'
import socket, sys, time
for _ in range(300):
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1).close()
        break
    except OSError:
        time.sleep(0.1)
else:
    sys.exit(1)
PYTHON
then
    echo "$0: fakellm did not start:" >&2
    cat "$work/log" >&2
    exit 1
fi

FOREIGN_CHAT_URL="http://127.0.0.1:$port/v1"
export FOREIGN_CHAT_URL
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    if [ "$argument" = "{url}" ]; then
        argument=$FOREIGN_CHAT_URL
    fi
    set -- "$@" "$argument"
    count=$((count - 1))
done
"$@"
