#!/usr/bin/env python3
"""Rebuilds a few real SWE-bench instances without any image registry, to run Patchmill on.

  scripts/real-instances.py --rows ../shared/conformance/instances/swe-bench-lite-sample.jsonl --out DIR [--docker] [--check] [ID...]

The repositories come from the projects' own source distributions on PyPI, which hold the same files as the base commits where it
counts. What is made in DIR, which must lie outside the checkout:

  instances.jsonl      rows derived from the given ones: `base_commit` of the rebuilt repository (the one of the dataset is kept as
                       `original_base_commit`), `repo_path`, `eval_script` and `log_parser`
  scripts/ID.jsonl     replies for `--model script:DIR/scripts` that make the known change with the tools
  repos/ID             the rebuilt repository
  venvs/ID             a virtual environment with the dependencies, pinned
  downloads/           what came from PyPI
  left-out.json        instances of the last call that could not be made, and why

With `--docker`, images `patchmill-real:ID` hold repository and environment, laid out as published images are, and the rows in
instances-docker.jsonl name them; their replies are in scripts-docker/. They take Debian's Python, so only instances for 3.11 are made.

Run it again and only what is missing is made. `--check` shows with plain git and pytest that the tests of each row turn. An instance whose
version of Python is not on this machine is left out and named.
"""

import argparse
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile

PROJECT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "scripts" / "images"))
import real  # noqa: E402

# Version of Python in the images.
IN_IMAGES = "3.11"
STAMP = "2024-01-01T00:00:00+00:00"

FLASK_23 = "Werkzeug==2.2.3 Jinja2==3.1.2 MarkupSafe==2.1.2 click==8.1.3 itsdangerous==2.1.2 setuptools==68.0.0 iniconfig==2.0.0 packaging==23.1 pluggy==1.0.0 attrs==22.2.0"
SPHINX_TOOLS = "html5lib==1.1 webencodings==0.5.1 six==1.16.0 snowballstemmer==2.2.0 sphinxcontrib-jsmath==1.0.1"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How one instance is rebuilt."""

    sdist: str  # requirement whose source distribution is taken
    python: str  # version of the interpreter
    pins: str  # what the virtual environment holds
    path: str  # directory of the package in the repository, put on PYTHONPATH
    # Tests of PASS_TO_PASS that the source distribution cannot pass, with the reason; they are taken out of the derived row.
    differing: dict = dataclasses.field(default_factory=dict)
    parser: str = "pytest"  # log parser
    # Files that the base commit has otherwise than the release, and a later release has as that commit: path, requirement, id of the blob.
    later: tuple = ()

    def source(self):
        """What the repository is made from, in words."""
        return ", ".join([self.sdist, *(f"{path} of {requirement}" for path, requirement, _ in self.later)])


RECIPES = {
    "pallets__flask-4992": Recipe("flask==2.2.3", "3.11", f"pytest==7.2.1 python-dotenv==0.21.1 asgiref==3.6.0 {FLASK_23}", "src"),
    "pallets__flask-5063": Recipe("flask==2.2.4", "3.11", f"pytest==7.3.1 python-dotenv==1.0.0 asgiref==3.6.0 blinker==1.6.2 {FLASK_23}", "src"),
    "pallets__flask-4045": Recipe(
        "flask==2.0.0",
        "3.9",
        "pytest==6.2.4 Werkzeug==2.0.0 Jinja2==3.0.0 click==8.0.0 itsdangerous==2.0.0 MarkupSafe==2.0.0 python-dotenv==0.17.1 asgiref==3.3.4 "
        "attrs==21.2.0 iniconfig==1.1.1 packaging==20.9 pluggy==0.13.1 py==1.10.0 pyparsing==2.4.7 toml==0.10.2",
        "src",
    ),
    "pytest-dev__pytest-9359": Recipe(
        "pytest==6.2.5", "3.11", "pytest==6.2.5 toml==0.10.2 attrs==21.4.0 iniconfig==1.1.1 packaging==21.3 pluggy==1.0.0 py==1.11.0 pyparsing==3.0.9", "src"
    ),
    "pytest-dev__pytest-11148": Recipe(
        "pytest==7.4.0",
        "3.11",
        "pytest==7.4.0 attrs==23.1.0 iniconfig==2.0.0 packaging==23.1 pluggy==1.2.0 pygments==2.15.1",
        "src",
        {"testing/test_pathlib.py::TestImportLibMode::test_parent_contains_child_module_attribute": "came after the release, before the base commit"},
    ),
    "pytest-dev__pytest-8365": Recipe(
        "pytest==6.2.2", "3.9", "pytest==6.2.2 toml==0.10.2 attrs==20.3.0 iniconfig==1.1.1 packaging==20.9 pluggy==0.13.1 py==1.10.0 pyparsing==2.4.7", "src"
    ),
    "sphinx-doc__sphinx-11445": Recipe(
        "sphinx==7.0.1",
        "3.11",
        f"pytest==7.3.1 docutils==0.20.1 Jinja2==3.1.2 MarkupSafe==2.1.2 babel==2.12.1 alabaster==0.7.13 imagesize==1.4.1 pygments==2.15.1 requests==2.31.0 "
        f"urllib3==2.0.3 certifi==2023.5.7 idna==3.4 charset-normalizer==3.1.0 sphinxcontrib-applehelp==1.0.4 sphinxcontrib-devhelp==1.0.2 "
        f"sphinxcontrib-htmlhelp==2.0.1 sphinxcontrib-qthelp==1.0.3 sphinxcontrib-serializinghtml==1.1.5 packaging==23.1 iniconfig==2.0.0 pluggy==1.0.0 {SPHINX_TOOLS}",
        ".",
    ),
    "sphinx-doc__sphinx-10325": Recipe(
        "sphinx==4.5.0",
        "3.9",
        f"pytest==7.1.1 docutils==0.17.1 Jinja2==3.0.3 MarkupSafe==2.0.1 babel==2.9.1 pytz==2022.1 alabaster==0.7.12 imagesize==1.3.0 pygments==2.11.2 "
        f"requests==2.27.1 urllib3==1.26.9 certifi==2021.10.8 idna==3.3 charset-normalizer==2.0.12 sphinxcontrib-applehelp==1.0.2 sphinxcontrib-devhelp==1.0.2 "
        f"sphinxcontrib-htmlhelp==2.0.0 sphinxcontrib-qthelp==1.0.3 sphinxcontrib-serializinghtml==1.1.5 packaging==21.3 pyparsing==3.0.7 iniconfig==1.1.1 "
        f"pluggy==1.0.0 attrs==21.4.0 py==1.11.0 tomli==2.0.1 importlib-metadata==4.11.3 zipp==3.7.0 {SPHINX_TOOLS}",
        ".",
    ),
    "sympy__sympy-13031": Recipe(
        "sympy==1.1",
        "3.9",
        "mpmath==1.3.0",
        ".",
        parser="sympy",
        later=(("sympy/matrices/common.py", "sympy==1.1.1", "7ef51bc847426b1b3adf1a227a1fd4e94dd1c73e"),),
    ),
    "mwaskom__seaborn-3010": Recipe(
        "seaborn==0.12.0",
        "3.9",
        "pytest==7.1.3 attrs==22.1.0 iniconfig==1.1.1 packaging==21.3 pluggy==1.0.0 py==1.11.0 tomli==2.0.1 numpy==1.25.2 pandas==1.5.3 pytz==2022.2.1 "
        "python-dateutil==2.8.2 six==1.16.0 matplotlib==3.5.3 cycler==0.11.0 fonttools==4.37.1 kiwisolver==1.4.4 pillow==9.2.0 pyparsing==3.0.9 scipy==1.11.2",
        ".",
        parser="seaborn",
    ),
}

# How a line of the log that a parser reads names a test that passed.
PASSED = {"pytest": r"^PASSED (.*)$", "seaborn": r"^PASSED (.*)$", "sympy": r"^(test_\w+).* ok(?: |$)"}

# Files of a test patch that are no tests themselves, by their ends.
NO_TESTS = (".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")


class Failed(Exception):
    """An instance that cannot be made; the others go on."""


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise Failed(f"{shlex.join(map(str, command))[:300]} exited with {done.returncode}:\n{tail}")
    return done.stdout


def git(directory, *arguments, text=None):
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "rebuilt"), ("EMAIL", "rebuilt@example.org"), ("DATE", STAMP))}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    return run("git", "-C", str(directory), *arguments, env={**kept, **who, **clean}, input=text)


def interpreter(version):
    """An interpreter of this version, on PATH or among those of pyenv, or None."""
    roots = [os.environ.get("PYENV_ROOT"), pathlib.Path.home() / ".pyenv"]
    installed = [str(found) for root in roots if root for found in sorted(pathlib.Path(root).glob(f"versions/{version}.*/bin/python{version}"))]
    for candidate in [shutil.which(f"python{version}"), *installed, sys.executable]:
        if candidate is None:
            continue
        answer = subprocess.run([candidate, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True)
        if answer.stdout.strip() == version:
            return candidate
    return None


class Instance:
    """One instance and where its parts lie."""

    def __init__(self, row, recipe, out):
        self.row, self.recipe, self.id = row, recipe, row["instance_id"]
        self.repo, self.venv, self.downloads = out / "repos" / self.id, out / "venvs" / self.id, out / "downloads" / self.id
        self.script, self.scratch = out / "scripts" / f"{self.id}.jsonl", out / "scratch" / self.id

    def make(self, python):
        self.make_venv(python)
        self.make_repository(python)
        changed = re.findall(r"^diff --git a/.* b/(.*)$", self.row["test_patch"], flags=re.MULTILINE)
        self.test_files = sorted({path for path in changed if not path.endswith(NO_TESTS)})
        self.script.parent.mkdir(parents=True, exist_ok=True)
        self.script.write_text("".join(json.dumps(reply) + "\n" for reply in self.replies()), encoding="utf-8")

    def make_venv(self, python):
        done = self.venv / "pins"
        if done.exists() and done.read_text() == self.recipe.pins:
            return
        shutil.rmtree(self.venv, ignore_errors=True)
        run(python, "-m", "venv", str(self.venv))
        run(str(self.venv / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self.recipe.pins.split())
        done.write_text(self.recipe.pins)

    def make_repository(self, python):
        done = self.repo / ".git" / "rebuilt-from"
        if done.exists() and done.read_text() == self.recipe.source():
            return
        shutil.rmtree(self.repo, ignore_errors=True)
        self.unpack(self.download(self.recipe.sdist))
        for path, requirement, blob in self.recipe.later:
            self.take(path, requirement, blob)
        git(self.repo, "init", "--quiet", "--initial-branch=main", "--template=")
        # The distribution holds files that the project ignores and needs.
        git(self.repo, "add", "--all", "--force")
        git(self.repo, "commit", "--quiet", "--no-gpg-sign", "--message", f"{self.recipe.source()} as published")
        done.write_text(self.recipe.source())

    def download(self, requirement):
        """The source distribution that a requirement names."""
        name, _, version = requirement.partition("==")
        found = lambda: [file for file in self.downloads.glob("*.tar.gz") if file.name.lower() == f"{name}-{version}.tar.gz"]
        if not found():
            self.downloads.mkdir(parents=True, exist_ok=True)
            run(str(self.venv / "bin/python"), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", name, "--dest", str(self.downloads), requirement)
        for file in found():
            return file
        raise Failed(f"{requirement} has no source distribution of that name")

    def take(self, path, requirement, blob):
        """Puts a file of another release into the repository."""
        with tarfile.open(self.download(requirement)) as tar:
            (member,) = [member for member in tar if member.isfile() and member.name.partition("/")[2] == path]
            content = tar.extractfile(member).read()
        if hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() != blob:
            raise Failed(f"{path} of {requirement} is not what the base commit has")
        (self.repo / path).write_bytes(content)

    def unpack(self, archive):
        self.repo.mkdir(parents=True)
        with tarfile.open(archive) as tar:
            for member in tar:
                _, _, path = member.name.partition("/")
                target = self.repo / path
                if not path or ".." in pathlib.PurePath(path).parts:
                    continue
                if member.isdir():
                    target.mkdir(parents=True, exist_ok=True)
                elif member.isfile():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(tar.extractfile(member).read())
                    target.chmod(0o755 if member.mode & 0o100 else 0o644)
                elif member.issym() and not os.path.isabs(member.linkname) and ".." not in member.linkname:
                    target.symlink_to(member.linkname)

    def tests(self, *options):
        """The command that runs the instance's test files, from the root of the repository."""
        # Absolute, since tests start Python in other directories.
        python = f'PYTHONPATH="$PWD/{self.recipe.path}" PYTHONDONTWRITEBYTECODE=1 {self.python()}'
        if self.recipe.parser == "sympy":
            # Its distribution lacks the script that does the same. It would choose hash seeds, and the order of tests, by chance.
            call = f"import sys, sympy; sys.exit(not sympy.test(*{self.test_files!r}, colors=False, verbose=True, seed=0, subprocess=False))"
            return f"PYTHONHASHSEED=0 {python} -W ignore -c {shlex.quote(call)}"
        return f"{python} -m pytest -p no:cacheprovider {shlex.join(options)} {shlex.join(self.test_files)}"

    def python(self):
        return shlex.quote(str(self.venv / "bin" / "python"))

    def derived(self):
        row = dict(self.row)
        row["original_base_commit"] = row["base_commit"]
        row["base_commit"] = git(self.repo, "rev-parse", "HEAD").strip()
        row["repo_path"] = f"repos/{self.id}"
        row["eval_script"] = self.tests("-rA", "--color=no") + "\n"
        row["log_parser"] = self.recipe.parser
        if self.recipe.differing:
            row["PASS_TO_PASS"] = [name for name in row["PASS_TO_PASS"] if name not in self.recipe.differing]
            row["differing_tests"] = self.recipe.differing
        return row

    def replies(self):
        """What a model would say that knows the fix."""
        patch = Patch(self.row["patch"])
        calls = patch.edits(self.repo)
        first = patch.files[0]
        yield reply("Let me look at the state of the repository and at the place in question.", bash("git status --short && git log --oneline -n 1"), view(first.path, *first.lines()))
        if calls is None:
            yield reply("The change is easiest to make as a patch.", bash("git apply --verbose - <<'END_OF_CHANGE'\n" + self.row["patch"] + "END_OF_CHANGE"))
        else:
            for call in calls:
                yield reply("", call)
        yield reply("I check what has changed and run the tests of this part.", bash("git diff"), bash(self.tests("-q") + " 2>&1 | tail -n 5", timeout=600))
        yield reply("", {"name": "task_done", "arguments": {"summary": "The change that resolves the issue is made."}})

    def check(self):
        """How the tests turn, with nothing but git and pytest."""
        expected = self.derived()
        before = self.passing(expected, self.row["test_patch"])
        after = self.passing(expected, self.row["test_patch"], self.row["patch"])
        turned, stayed = set(expected["FAIL_TO_PASS"]), set(expected["PASS_TO_PASS"])
        problems = [f"passes before: {name}" for name in sorted(turned & before)]
        problems += [f"fails after: {name}" for name in sorted((turned | stayed) - after)]
        if problems:
            raise Failed("its tests do not turn: " + ", ".join(problems))
        return f"{len(turned & before)} -> {len(turned & after)} of {len(turned)} turn, {len(stayed & after)} of {len(stayed)} stay"

    def passing(self, row, *patches):
        passed = re.findall(PASSED[self.recipe.parser], self.said(row, patches), flags=re.MULTILINE)
        # Names in the dataset end at their first space.
        return {cut for name in passed for cut in (name, name.split(" ")[0])}

    def said(self, row, patches):
        """What the tests say after the patches."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        git(self.repo, "clone", "--quiet", "--no-hardlinks", str(self.repo), str(self.scratch))
        for patch in patches:
            git(self.scratch, "apply", "-", text=patch)
        done = subprocess.run(["bash", "-c", row["eval_script"]], cwd=self.scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        shutil.rmtree(self.scratch)
        return done.stdout


class Contained(Instance):
    """An instance in an image of its own."""

    def __init__(self, row, recipe, out):
        super().__init__(row, recipe, out)
        self.image = f"patchmill-real:{self.id}"
        self.script = out / "scripts-docker" / f"{self.id}.jsonl"
        self.wheels = out / "wheels" / self.id

    def make(self, python):
        super().make(python)
        self.make_wheels()
        real.build(run, self.image, self.repo, self.wheels, self.recipe.pins, self.scratch)

    def make_wheels(self):
        done = self.wheels / "made-for"
        if done.exists() and done.read_text() == self.recipe.pins:
            return
        shutil.rmtree(self.wheels, ignore_errors=True)
        run(str(self.venv / "bin/python"), "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--wheel-dir", str(self.wheels), *self.recipe.pins.split())
        done.write_text(self.recipe.pins)

    def python(self):
        return "python"

    def derived(self):
        row = super().derived()
        del row["repo_path"]
        row["image"], row["workdir"] = self.image, "/testbed"
        return row

    def said(self, row, patches):
        script = "".join(f"git apply - <<'END_OF_PATCH' || exit\n{patch}END_OF_PATCH\n" for patch in patches)
        return real.said_in(self.image, script + row["eval_script"])


class Patch:
    """A patch as pairs of old and new text, as far as that is enough."""

    def __init__(self, text):
        self.files = []
        for part in re.split(r"^diff --git ", text, flags=re.MULTILINE)[1:]:
            self.files.append(FileChange(part))

    def edits(self, repository):
        """Calls of the edit tool that make the change, None when some hunk is not found exactly once."""
        calls = []
        for file in self.files:
            target = repository / file.path
            if file.special or not target.is_file():
                return None
            text = target.read_bytes().decode("utf-8")
            for old, new in file.hunks:
                if text.count(old) != 1:
                    return None
                text = text.replace(old, new)
                calls.append({"name": "str_replace_based_edit_tool", "arguments": {"command": "str_replace", "path": file.path, "old_str": old, "new_str": new}})
        return calls


class FileChange:
    """What a patch does to one file."""

    def __init__(self, text):
        self.path = text.split("\n", 1)[0].rsplit(" b/", 1)[1]
        head, *hunks = re.split(r"^@@ -(\d+).* @@.*\n", text, flags=re.MULTILINE)
        self.special = re.search(r"^(new|deleted|rename|copy|old mode|GIT binary|Binary)", head, flags=re.MULTILINE) is not None
        self.first = int(hunks[0]) if hunks else 1
        self.hunks = []
        for body in hunks[1::2]:
            lines = io.StringIO(body).readlines()
            self.special |= any(line.startswith("\\") for line in lines)
            old = "".join(line[1:] for line in lines if line[0] in " -\n")
            new = "".join(line[1:] for line in lines if line[0] in " +\n")
            self.hunks.append((old, new))

    def lines(self):
        return max(self.first - 5, 1), self.first + 30


def reply(text, *calls):
    return {"text": text, "tool_calls": list(calls)}


def bash(command, **options):
    return {"name": "bash", "arguments": {"command": command, **options}}


def view(path, first, last):
    return {"name": "str_replace_based_edit_tool", "arguments": {"command": "view", "path": path, "view_range": [first, last]}}


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    for row in rows:
        for field in ("FAIL_TO_PASS", "PASS_TO_PASS"):
            if isinstance(row[field], str):
                row[field] = json.loads(row[field])
    return {row["instance_id"]: row for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=pathlib.Path, help="JSON lines in the shape of SWE-bench")
    parser.add_argument("--out", type=pathlib.Path, help="directory outside the checkout")
    parser.add_argument("--list", action="store_true", help="print the instances that can be made as JSON, and stop")
    parser.add_argument("--docker", action="store_true", help="put each into an image of its own; needs a Docker engine")
    parser.add_argument("--check", action="store_true", help="run the tests of each instance before and after the known patch")
    parser.add_argument("ids", nargs="*", metavar="ID", help=f"some of {', '.join(RECIPES)}; all by default")
    arguments = parser.parse_args()
    if arguments.list:
        print(json.dumps({id: {"source": recipe.source(), "python": recipe.python} for id, recipe in RECIPES.items()}, indent=2))
        return 0
    if not arguments.rows or not arguments.out:
        parser.error("--rows and --out are needed")
    out = arguments.out.resolve()
    if out.is_relative_to(PROJECT):
        parser.error(f"{out} lies inside the checkout")
    unknown = [id for id in arguments.ids if id not in RECIPES]
    if unknown:
        parser.error(f"no recipe for {', '.join(unknown)}")
    out.mkdir(parents=True, exist_ok=True)
    rows = read_rows(arguments.rows)
    made, left_out = [], {}
    chosen = arguments.ids or [id for id, recipe in RECIPES.items() if not arguments.docker or recipe.python == IN_IMAGES]
    for id in chosen:
        try:
            made.append(make_one(id, rows, out, arguments.docker, arguments.check))
        except Failed as problem:
            left_out[id] = str(problem)
            print(f"{id}: {problem}", file=sys.stderr)
    kind = "-docker" if arguments.docker else ""
    dataset = out / f"instances{kind}.jsonl"
    kept = read_rows(dataset) if dataset.exists() else {}
    kept.update((row["instance_id"], row) for row in made)
    dataset.write_text("".join(json.dumps(kept[id]) + "\n" for id in RECIPES if id in kept), encoding="utf-8")
    (out / "left-out.json").write_text(json.dumps(left_out, indent=2) + "\n", encoding="utf-8")
    print(f"{len(made)} made, {len(left_out)} left out; {dataset} holds {len(kept)}, {out / f'scripts{kind}'} their replies", file=sys.stderr)
    return 0 if made and not (left_out and arguments.check) else 1


def make_one(id, rows, out, docker, check):
    if id not in rows:
        raise Failed("not in the given rows")
    recipe = RECIPES[id]
    python = interpreter(recipe.python)
    if python is None:
        raise Failed(f"left out, needs Python {recipe.python}")
    if docker and recipe.python != IN_IMAGES:
        raise Failed(f"left out, the images have Python {IN_IMAGES}, it needs {recipe.python}")
    instance = (Contained if docker else Instance)(rows[id], recipe, out)
    instance.make(python)
    row = instance.derived()
    notes = [instance.check()] if check else []
    notes += [f"{name} differs: {why}" for name, why in recipe.differing.items()]
    print("; ".join([f"{id}: {recipe.source()} with Python {recipe.python}", *notes]), file=sys.stderr)
    return row


if __name__ == "__main__":
    sys.exit(main())
