#!/usr/bin/env python3
"""Checks our fake of the hub with the hub's real client, and that client's cache with ours, both ways.

Needs huggingface_hub and pyarrow: `python3 -m venv V && V/bin/pip install huggingface_hub pyarrow && V/bin/python scripts/check-hub.py`.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "octo/issues"


def rows(count):
    return [
        {"instance_id": f"octo__demo-{n}", "repo": "octo/demo", "base_commit": "0" * 40, "problem_statement": "It breaks.",
         "FAIL_TO_PASS": ["a", "b"], "version": "1.10"}
        for n in range(count)
    ]


def dataset(directory):
    import pyarrow
    import pyarrow.parquet
    (directory / "data").mkdir(parents=True)
    (directory / "README.md").write_text("# Issues\n")
    for part in range(2):
        table = pyarrow.Table.from_pylist(rows(4)[part * 2:part * 2 + 2])
        pyarrow.parquet.write_table(table, directory / f"data/test-{part:05}-of-00002.parquet")


def runner(environment, *more):
    command = [ROOT / "target/debug/runner", "run", "--dataset", NAME, "--model", "script:none", "--sandbox", "local", "--dry-run",
               "--format", "json", *more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [attempt["instance_id"] for attempt in json.loads(done.stdout)["attempts"]]


def main():
    build = ["cargo", "build", "--locked", "--package", "runner", "--package", "testkit", "--example", "fake_hub", "--bin", "runner"]
    subprocess.run(build, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        dataset(scratch / "dataset")
        hub = subprocess.Popen([ROOT / "target/debug/examples/fake_hub", NAME, scratch / "dataset"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env={**os.environ, "FAKE_HUB_TOKEN": "hf_right"})
        try:
            check(hub.stdout.readline().strip(), scratch)
        finally:
            hub.stdin.close()
            hub.wait(10)
    print("the hub's client and ours agree")


def check(endpoint, scratch):
    os.environ.update(HF_ENDPOINT=endpoint, HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_XET="1", HF_HOME=str(scratch / "home"))
    import huggingface_hub as client
    from huggingface_hub import errors
    expected = [row["instance_id"] for row in rows(4)]

    info = client.HfApi().dataset_info(NAME, files_metadata=True, token="hf_right")
    assert {f.rfilename for f in info.siblings} == {"README.md", "data/test-00000-of-00002.parquet", "data/test-00001-of-00002.parquet"}
    for refused, arguments in [
        (errors.RepositoryNotFoundError, {"repo_id": "octo/none"}),
        (errors.RevisionNotFoundError, {"repo_id": NAME, "revision": "v9"}),
        (errors.EntryNotFoundError, {"repo_id": NAME, "filename": "data/none"}),
    ]:
        arguments = {"filename": "README.md", **arguments}
        try:
            client.hf_hub_download(repo_type="dataset", token="hf_right", cache_dir=scratch / "none", **arguments)
        except refused:
            continue
        raise AssertionError(f"{refused} was expected of {arguments}")

    # What the client downloads, we read without asking.
    client.snapshot_download(NAME, repo_type="dataset", token="hf_right", cache_dir=scratch / "theirs")
    environment = {**os.environ, "HF_HUB_CACHE": str(scratch / "theirs")}
    assert runner(environment, "--offline") == expected

    # What we download, the client finds.
    environment = {**os.environ, "HF_HUB_CACHE": str(scratch / "ours"), "HF_TOKEN": "hf_right"}
    assert runner(environment) == expected
    for part in range(2):
        name = f"data/test-{part:05}-of-00002.parquet"
        path = client.hf_hub_download(NAME, name, repo_type="dataset", cache_dir=scratch / "ours", local_files_only=True)
        assert pathlib.Path(path).read_bytes() == (scratch / "dataset" / name).read_bytes()
    [found] = client.scan_cache_dir(scratch / "ours").repos
    assert found.repo_id == NAME and not client.scan_cache_dir(scratch / "ours").warnings


if __name__ == "__main__":
    sys.exit(main())
