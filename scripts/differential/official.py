"""Asks the official parsers, in the environment of one of their versions, for the maps of generated logs.

usage: official.py COUNT SEED OUT     run by scripts/differential/run
"""

import contextlib
import io
import json
import sys
from types import SimpleNamespace

from logs import logs
from seeds import FAMILIES


def parsers():
    """Every parser of the package that is installed, by its name without `parse_log_`."""
    import swebench.harness.log_parsers as package

    if hasattr(package, "PARSER_REGISTRY"):
        functions = package.PARSER_REGISTRY
    else:
        import importlib

        functions = {}
        for language in ["c", "go", "java", "javascript", "php", "python", "ruby", "rust"]:
            module = importlib.import_module(f"swebench.harness.log_parsers.{language}")
            functions.update({k: v for k, v in vars(module).items() if k.startswith("parse_log_")})
    return {name.removeprefix("parse_log_"): function for name, function in functions.items()}


def main():
    count, seed, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    official = parsers()
    with open(out, "w", encoding="utf-8", errors="surrogatepass") as file:
        for lines, names in FAMILIES.values():
            for name in names:
                if name not in official:
                    continue
                for log, instance_id, version in logs(name, lines, count, seed):
                    spec = SimpleNamespace(instance_id=instance_id, version=version, repo="")
                    try:
                        with contextlib.redirect_stdout(io.StringIO()):
                            answer = list(official[name](log, spec).items())
                    except Exception as error:  # noqa: BLE001 - any failure is the answer
                        answer = type(error).__name__
                    case = {"parser": name, "instance_id": instance_id, "version": version, "log": log, "answer": answer}
                    file.write(json.dumps(case) + "\n")


main()
