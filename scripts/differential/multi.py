"""Asks Multi-SWE-bench's classes, in an environment that has the package, for the results of generated logs.

usage: multi.py COUNT SEED OUT     run by scripts/differential/run
"""

import importlib
import json
import sys
from types import SimpleNamespace

from logs import logs
from seeds import MULTI

# A class for each parser of ours: its module below `multi_swe_bench.harness.repos`, and its name.
CLASSES = {
    "multi_swe_automake": ("c.jqlang.jq", "Jq"),
    "multi_swe_cargo": ("rust.tokio_rs.tokio", "Tokio"),
    "multi_swe_catch2": ("cpp.catchorg.catch2", "Catch2"),
    "multi_swe_ctest": ("cpp.fmtlib.fmt", "Fmt"),
    "multi_swe_darkreader": ("typescript.darkreader.darkreader", "Darkreader"),
    "multi_swe_express": ("javascript.expressjs.express", "Express"),
    "multi_swe_googletest": ("c.ponylang.ponyc", "Ponyc"),
    "multi_swe_gotest": ("golang.cli.cli", "Cli"),
    "multi_swe_gotest_bases": ("golang.grpc.grpc_go", "GrpcGo"),
    "multi_swe_gradle": ("java.mockito.mockito", "Mockito"),
    "multi_swe_gson": ("java.google.gson", "Gson"),
    "multi_swe_insomnia": ("javascript.Kong.insomnia", "Insomnia"),
    "multi_swe_jest": ("javascript.iamkun.dayjs", "Dayjs"),
    "multi_swe_jib": ("java.googlecontainertools.jib", "Jib"),
    "multi_swe_mocha": ("javascript.axios.axios", "Axios"),
    "multi_swe_mui": ("typescript.mui.material_ui", "MaterialUi"),
    "multi_swe_surefire": ("java.alibaba.fastjson2", "Fastjson2"),
    "multi_swe_surefire_plain": ("java.apache.dubbo", "Dubbo"),
    "multi_swe_vitest": ("typescript.vuejs.core", "Core"),
    "multi_swe_zstd": ("c.facebook.zstd", "Zstd"),
}


def answer(parse, log, instance_id):
    """Names and what became of them; the name of an exception where the class breaks off."""
    row = SimpleNamespace(pr=SimpleNamespace(number=int(instance_id.rsplit("-", 1)[1])))
    row.parse_json_log = lambda text: parse.json(row, text)
    try:
        result = parse.log(row, log)
    except Exception as error:  # noqa: BLE001 - any failure is the answer
        return type(error).__name__
    sets = [(result.passed_tests, "PASSED"), (result.failed_tests, "FAILED"), (result.skipped_tests, "SKIPPED")]
    return [(name, word) for names, word in sets for name in names]


def main():
    count, seed, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    with open(out, "w", encoding="utf-8", errors="surrogatepass") as file:
        for name, (module, kind) in CLASSES.items():
            found = getattr(importlib.import_module(f"multi_swe_bench.harness.repos.{module}"), kind)
            parse = SimpleNamespace(log=found.parse_log, json=getattr(found, "parse_json_log", None))
            for log, instance_id, version in logs(name, MULTI[name], count, seed):
                case = {"parser": name, "instance_id": instance_id, "version": version, "log": log, "answer": answer(parse, log, instance_id), "unordered": True}
                file.write(json.dumps(case) + "\n")


main()
