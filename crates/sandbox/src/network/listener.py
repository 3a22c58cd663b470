import os, selectors, signal, socket, struct, sys
port, nonce, window, most = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for name in ("HUP", "INT", "TERM", "PIPE", "QUIT", "USR1", "USR2", "ALRM"):
    signal.signal(getattr(signal, "SIG" + name), signal.SIG_IGN)
out = os.dup(1)
nothing = os.open(os.devnull, os.O_RDWR)
os.dup2(nothing, 1)
os.dup2(nothing, 2)
door = socket.socket()
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
try:
    door.bind(("127.0.0.1", port))
    door.listen(128)
except OSError as error:
    os.write(out, ("%s cannot listen on 127.0.0.1:%d: %s\n" % (nonce, port, error.strerror)).encode())
    sys.exit(1)
os.write(out, (nonce + " ready\n").encode())
for fd in (0, out):
    os.set_blocking(fd, False)
door.setblocking(False)
HEAD = struct.Struct(">BII")
OPEN, DATA, END, RESET, WINDOW, PING, PONG = range(1, 8)
PIECE = 32768
CROWDED = 262144
waiting = selectors.DefaultSelector()
watched, flows, inbox, outbox = {}, {}, bytearray(), bytearray()
number, crowded = 0, False


class Flow:
    def __init__(self, sock, number):
        self.sock, self.number, self.credit, self.pending, self.owed = sock, number, window, bytearray(), 0
        self.read_all = self.to_end = self.ended = False


def watch(file, mask, what):
    fd = file if isinstance(file, int) else file.fileno()
    old = watched.get(fd, 0)
    if old == mask:
        return
    if not old:
        waiting.register(file, mask, what)
    elif mask:
        waiting.modify(file, mask, what)
    else:
        waiting.unregister(file)
    watched[fd] = mask


def send(kind, number, amount, data=b""):
    outbox.extend(HEAD.pack(kind, number, amount))
    outbox.extend(data)


def settle(flow):
    mask = 0
    if not flow.read_all and flow.credit > 0 and not crowded:
        mask |= selectors.EVENT_READ
    if flow.pending:
        mask |= selectors.EVENT_WRITE
    watch(flow.sock, mask, flow)


def forget(flow):
    watch(flow.sock, 0, flow)
    flow.sock.close()
    del flows[flow.number]


def lose(flow):
    forget(flow)
    send(RESET, flow.number, 0)


def finish(flow):
    if flow.to_end and not flow.pending and not flow.ended:
        flow.ended = True
        try:
            flow.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
    if flow.ended and flow.read_all:
        forget(flow)
    else:
        settle(flow)


def receive(flow):
    try:
        data = flow.sock.recv(min(PIECE, flow.credit))
    except (BlockingIOError, InterruptedError):
        return
    except OSError:
        return lose(flow)
    if data:
        flow.credit -= len(data)
        send(DATA, flow.number, len(data), data)
        settle(flow)
    else:
        flow.read_all = True
        send(END, flow.number, 0)
        finish(flow)


def deliver(flow):
    try:
        while flow.pending:
            count = flow.sock.send(flow.pending[:65536])
            del flow.pending[:count]
            flow.owed += count
    except (BlockingIOError, InterruptedError):
        pass
    except OSError:
        return lose(flow)
    if flow.owed >= window // 4:
        send(WINDOW, flow.number, flow.owed)
        flow.owed = 0
    finish(flow)


def accept():
    global number
    try:
        sock, _ = door.accept()
    except OSError:
        return
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    number = (number + 1) & 0xFFFFFFFF
    flow = flows[number] = Flow(sock, number)
    send(OPEN, number, 0)
    settle(flow)


def take():
    try:
        data = os.read(0, 262144)
    except (BlockingIOError, InterruptedError):
        return
    if not data:
        sys.exit(0)
    inbox.extend(data)
    at = 0
    while len(inbox) - at >= 9:
        kind, number, amount = HEAD.unpack_from(inbox, at)
        flow = flows.get(number)
        if kind == DATA:
            if len(inbox) - at < 9 + amount:
                break
            if flow:
                flow.pending.extend(memoryview(inbox)[at + 9 : at + 9 + amount])
                deliver(flow)
            at += amount
        elif kind == PING:
            send(PONG, 0, 0)
        elif flow and kind == WINDOW:
            flow.credit += amount
            settle(flow)
        elif flow and kind == END:
            flow.to_end = True
            finish(flow)
        elif flow and kind == RESET:
            forget(flow)
        at += 9
    del inbox[:at]


def flush():
    global crowded
    try:
        while outbox:
            count = os.write(out, outbox[:65536])
            del outbox[:count]
    except (BlockingIOError, InterruptedError):
        pass
    watch(out, selectors.EVENT_WRITE if outbox else 0, flush)
    full = len(outbox) > CROWDED
    if full != crowded:
        crowded = full
        for flow in list(flows.values()):
            settle(flow)
    watch(door, selectors.EVENT_READ if len(flows) < most and not crowded else 0, accept)


watch(0, selectors.EVENT_READ, take)
flush()
while True:
    for key, mask in waiting.select():
        what = key.data
        if not isinstance(what, Flow):
            what()
            continue
        if mask & selectors.EVENT_WRITE and flows.get(what.number) is what:
            deliver(what)
        if mask & selectors.EVENT_READ and flows.get(what.number) is what and not what.read_all:
            receive(what)
    flush()
