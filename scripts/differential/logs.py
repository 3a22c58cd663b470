"""Makes logs: lines of a family, filled in, joined and mutated. The same seed gives the same logs."""

import json
import random
import sys

from seeds import FAMILIES, VARIANTS

WORDS = ["parse", "Alpha", "beta2", "x", "naïve", "Größe", "測試", "empty", "a-b", "x.y", "É", "test_it", "o'k", "(p)", "[q]", "\u00a0", "z\u2028z", "٣", "🙂"]
SPACES = [" ", "  ", "\t", "\u00a0", "\u2003", "\x1c", "\x1f", "\x85", "\u2028", "\x0b", "\x0c", "\u200b", "\ufeff"]
NOISE = [
    "", " ", "warning: something", "+ : '>>>>> ok'", "----------", "\x1b[0m", "\x1b[1;33mnote\x1b[0m", "INFO x", "Traceback (most recent call last):", "  File \"a.py\", line 3", "…", "ok", "PASS", "}", "\x1b[2K\x1b[1G",
]


def fill(random, line):
    """Puts words and numbers into a line; braces that are none of ours stay."""
    while True:
        at = min((i for i in (line.find("{%s}" % k) for k in "nwps") if i >= 0), default=-1)
        if at < 0:
            return line
        kind = line[at + 1]
        if kind == "n":
            value = str(random.choice([0, 1, 2, 7, 10, 33, 100, 1234]))
        elif kind == "w":
            value = random.choice(WORDS)
        elif kind == "p":
            value = "/".join(random.choice(WORDS) for _ in range(random.randint(1, 3))) + ".py"
        else:
            value = random.choice([" ", "  ", " - "]).join(random.choice(WORDS) for _ in range(random.randint(2, 5)))
        line = line[:at] + value + line[at + 3 :]


def mutate(random, text):
    """One change, of the kinds that real logs suffer."""
    kind = random.randrange(12)
    at = random.randint(0, len(text)) if text else 0
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + random.choice(SPACES) + text[at:]
    if kind == 2:
        return text[:at] + random.choice(["\x1b[32m", "\x1b[0m", "\x1b[1;31m", "\x1bM", "\x1b[", "[31m"]) + text[at:]
    if kind == 3:
        return text.replace("\n", random.choice(["\r\n", "\r", "\n\n", "\n \n"]))
    if kind == 4:
        lines = text.split("\n")
        line = random.choice(lines)
        lines.insert(random.randint(0, len(lines)), line)
        return "\n".join(lines)
    if kind == 5:
        return text.replace(" ", random.choice(SPACES), random.randint(1, 3))
    if kind == 6:
        to = min(len(text), at + random.randint(1, 6))
        return text[:at] + text[to:]
    if kind == 7:
        lines = text.split("\n")
        random.shuffle(lines)
        return "\n".join(lines)
    if kind == 8:
        return text[:at] + "\n" + text[at:]
    if kind == 9:
        return text.replace("\n", "", 1)
    if kind == 10:
        return text[:at] + random.choice("[](){}<>:;-.=_|✓✕✔#*'\"\\/é٣²\x00\x07🙂") + text[at:]
    lines = text.split("\n")
    return "\n".join(random.choice(["  ", "    ", "", "\t"]) + line for line in lines)


def log(random, lines):
    """One log."""
    chosen = [fill(random, random.choice(lines)) for _ in range(random.choice([1, 2, 3, 5, 8, 13, 21]))]
    for _ in range(random.randint(0, 3)):
        chosen.insert(random.randint(0, len(chosen)), random.choice(NOISE))
    text = "\n".join(chosen) + random.choice(["", "\n"])
    for _ in range(random.choice([0, 0, 1, 1, 2, 3, 5])):
        text = mutate(random, text)
    # As a text file is read: every line end is one newline.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def logs(parser, lines, count, seed):
    """Logs for a parser, each with an instance id and a version."""
    source = random.Random(f"{seed}:{parser}")
    variants = VARIANTS.get(parser, [("o__r-1", "1.0")])
    for number in range(count):
        instance_id, version = variants[number % len(variants)]
        yield log(source, lines), instance_id, version


def lines_of(parser):
    """The lines that a parser's logs are made of."""
    return next(lines for lines, names in FAMILIES.values() if parser in names)


def main():
    """Prints the logs for a parser, a JSON list of log, instance id and version a line: `logs.py COUNT SEED PARSER`."""
    count, seed, parser = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    for case in logs(parser, lines_of(parser), count, seed):
        print(json.dumps(case))


if __name__ == "__main__":
    main()
