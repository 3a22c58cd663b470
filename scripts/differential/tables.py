"""Prints a digest of how the official harness 4.1.0 installs and tests each Python repository at each version.

usage: tables.py     run by scripts/differential/run in the environment of that version
"""

from fixture import digest

from swebench.harness.constants import MAP_REPO_VERSION_TO_SPECS_PY


def main():
    for repository, versions in sorted(MAP_REPO_VERSION_TO_SPECS_PY.items()):
        for version, specs in sorted(versions.items()):
            if "install" in specs and "test_cmd" in specs:
                commands = [*specs.get("eval_commands", []), specs["install"], specs["test_cmd"]]
                print(repository, version, digest("\n".join(commands).encode()).hex())


main()
