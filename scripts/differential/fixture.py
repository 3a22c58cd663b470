"""Writes down what the official answers are, in few bytes: eight of a digest for each. crates/grade/tests/it/differential.rs reads that.

A fixture begins with a line of JSON (`seed`, `columns`). For each column follow the digests of generation 5, then those of generation 4 that are
others, each after its number as two bytes.
"""

import hashlib
import json


def digest(data):
    """The start of a digest."""
    return hashlib.sha256(data).digest()[:8]


def digest_of(answer):
    """That of an answer."""
    return digest(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def write(path, seed, columns):
    """Writes a fixture. A column is its name, its printed cases, digests of generation 5, and of generation 4 or `None`."""
    head, body = [], b""
    for name, cases, five, four in columns:
        others = None if four is None else [(n, theirs) for n, (theirs, new) in enumerate(zip(four, five)) if theirs != new]
        head.append({"name": name, "count": len(five), "cases": digest(cases).hex(), "others": None if others is None else len(others)})
        body += b"".join(five) + b"".join(number.to_bytes(2, "little") + theirs for number, theirs in others or [])
    path.write_bytes(json.dumps({"seed": seed, "columns": head}).encode() + b"\n" + body)
