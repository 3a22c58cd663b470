# patchmill-pytest:1: the base image with pytest and Django, from the index of Python's packages, for what must work with real test frameworks.
# `pytest`, `python` and `python3` are on PATH.

# Wheels that hold Python alone, each with all that it needs.
WHEELS=(pytest==8.3.5 pluggy==1.5.0 iniconfig==2.0.0 packaging==24.2 Django==4.2.20 asgiref==3.8.1 sqlparse==0.5.3)

pytest_images() {
    echo patchmill-pytest:1
}

pytest_from() {
    echo base
}

pytest_build() {
    local context="$scratch/context"
    mkdir "$context"
    python3 -m venv "$scratch/venv"
    "$scratch/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: --no-compile --target "$context/packages" "${WHEELS[@]}" ||
        fail "the wheels for the image with pytest cannot be had" "this needs the index of Python's packages over the network"
    rm -rf "$context/packages/bin"
    cat >"$context/pytest" <<'PYTHON'
#!/usr/bin/python3
import sys

from pytest import console_main

sys.exit(console_main())
PYTHON
    chmod 755 "$context/pytest"
    from_dockerfile patchmill-pytest:1 "$context" <<'DOCKERFILE'
FROM patchmill-base:bookworm
COPY packages /usr/lib/python3/dist-packages
COPY pytest /usr/local/bin/pytest
RUN ln -s /usr/bin/python3 /usr/local/bin/python
DOCKERFILE
}
