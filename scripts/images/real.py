"""Images of rebuilt instances: their dependencies from wheels, laid out as the images that datasets publish. Used by ../real-instances.py."""

import hashlib
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BASE = "patchmill-base:bookworm"
# Brings a shell to where the image's users start.
START = ". /opt/miniconda3/etc/profile.d/conda.sh && conda activate testbed"
LABEL = "patchmill.inputs"

DOCKERFILE = f"""\
FROM {BASE}
COPY conda.sh /opt/miniconda3/etc/profile.d/conda.sh
COPY activate /opt/miniconda3/bin/activate
COPY wheels /opt/wheels
RUN python3 -m venv --copies /opt/miniconda3/envs/testbed \\
 && /opt/miniconda3/envs/testbed/bin/python -m pip install --quiet --no-index --find-links /opt/wheels --requirement /opt/wheels/pins.txt \\
 && rm /opt/miniconda3/envs/testbed/bin/activate* /opt/miniconda3/envs/testbed/bin/Activate* && rm -r /opt/wheels
COPY testbed /testbed
WORKDIR /testbed
"""


def build(run, image, repository, wheels, pins, scratch):
    """Builds `image` from the repository and the wheels, unless it was built from the same. `run` runs a command and returns what it said."""
    run(str(HERE / "build.sh"), "base")
    base = run("docker", "image", "inspect", "--format", "{{.Id}}", BASE).strip()
    commit = run("git", "-C", str(repository), "rev-parse", "HEAD").strip()
    layout = [(HERE / "layout" / name).read_text() for name in ("conda.sh", "activate")]
    digest = hashlib.sha256("\0".join([DOCKERFILE, base, commit, pins, *layout]).encode()).hexdigest()
    if label(image) == digest:
        return
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for name in ("conda.sh", "activate"):
        shutil.copy(HERE / "layout" / name, scratch / name)
    shutil.copytree(wheels, scratch / "wheels")
    (scratch / "wheels" / "pins.txt").write_text("\n".join(pins.split()) + "\n")
    run("git", "clone", "--quiet", "--no-hardlinks", str(repository), str(scratch / "testbed"))
    run("git", "-C", str(scratch / "testbed"), "remote", "remove", "origin")
    (scratch / "Dockerfile").write_text(DOCKERFILE + f"LABEL {LABEL}={digest}\n")
    has_kit = subprocess.run(["docker", "buildx", "version"], capture_output=True).returncode == 0
    run("env", f"DOCKER_BUILDKIT={int(has_kit)}", "docker", "build", "--network", "none", "--force-rm", "--tag", image, str(scratch))
    shutil.rmtree(scratch)


def label(image):
    template = f'{{{{index .Config.Labels "{LABEL}"}}}}'
    answer = subprocess.run(["docker", "image", "inspect", "--format", template, image], capture_output=True, text=True)
    return answer.stdout.strip() if answer.returncode == 0 else None


def said_in(image, script):
    """What a script says in a fresh container, in a shell that has started as the image's users do."""
    command = ["docker", "run", "--rm", "--interactive", "--pull", "never", "--network", "none", image, "bash", "-s"]
    done = subprocess.run(command, input=f"{START}\n{script}", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.stdout
