"""Keeps the answers of both versions for the tests: `keep.py SEED DIRECTORY`, run by scripts/differential/run."""

import json
import pathlib
import sys

from fixture import digest_of, write
from seeds import FAMILIES

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "crates/grade/tests/fixtures"


def read(path, key):
    """Cases as the generator printed them, and digests of the answers, by column."""
    columns = {}
    with open(path, encoding="utf-8", errors="surrogatepass") as file:
        for one in map(json.loads, file):
            cases, answers = columns.setdefault(key(one), ([], []))
            case = one["case"] if "case" in one else [one["log"], one["instance_id"], one["version"]]
            cases.append(json.dumps(case) + "\n")
            answers.append(digest_of("broken" if isinstance(one["answer"], str) else one["answer"]))
    return columns


def keep(directory, kind, names, key, seed):
    """Writes one fixture."""
    four, five = (read(directory / f"{kind}-{version}.jsonl", key) for version in ("4.1.0", "5.0.2"))
    columns = [(name, "".join(five[name][0]).encode(), five[name][1], four[name][1] if name in four else None) for name in names]
    write(FIXTURES / f"official-{kind}.digests", seed, columns)


def main():
    seed, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    parsers = [name for _, names in FAMILIES.values() for name in names]
    keep(directory, "maps", parsers, lambda one: one["parser"], seed)
    keep(directory, "verdicts", ["verdicts", "runs"], lambda one: one["kind"], seed)


if __name__ == "__main__":
    main()
