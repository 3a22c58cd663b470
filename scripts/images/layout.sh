# patchmill-layout:1, patchmill-layout-user:1 and patchmill-layout-app:1: the layouts of images that datasets publish, with a demo repository in it.
#   /testbed                            the repository; HEAD is a set-up commit on top of the base commit
#   /opt/miniconda3/envs/testbed        the environment of the tests: it alone has the module `testbed_only`, which the set-up commit's test needs
#   /opt/miniconda3/bin/activate        brings in `conda activate`, which puts the environment first on PATH
#   /usr/bin/python3, /usr/local/bin/python    Debian's Python, found first without that, and without the module
# In patchmill-layout-user:1 everything runs as `nonroot`, who owns the repository.
# In patchmill-layout-app:1 too; the repository is at /app, the environment of the tests in it, at /app/.venv, which nothing ignores.
. "$here/repositories.sh"

layout_images() {
    echo patchmill-layout:1
    echo patchmill-layout-user:1
    echo patchmill-layout-app:1
}

layout_from() {
    echo base
}

layout_files() {
    demo_sources
    echo "$here/layout"
}

layout_build() {
    local context="$scratch/context" row
    mkdir "$context"
    cp -R "$here/layout/." "$context/"
    "$top/scripts/build-demo.sh" "$scratch/repositories" 2>/dev/null
    row=$(demo_rows | grep '^patchmill-demo__spanset-14 ')
    checkout "$scratch/repositories/spanset.git" "${row##* }" "$context/testbed"
    cp "$here/layout/set-up/test_environment.py" "$context/testbed/tests/test_environment.py"
    plain_git -C "$context/testbed" add --all
    plain_git -C "$context/testbed" commit --quiet --no-gpg-sign --message 'Set up the tests'
    from_dockerfile patchmill-layout:1 "$context" <<'DOCKERFILE'
FROM patchmill-base:bookworm
RUN python3 -m venv --copies --without-pip /opt/miniconda3/envs/testbed \
 && rm /opt/miniconda3/envs/testbed/bin/activate* /opt/miniconda3/envs/testbed/bin/Activate* \
 && ln -s /usr/bin/python3 /usr/local/bin/python \
 && echo nonroot:x:1000:1000::/home/nonroot:/bin/bash >>/etc/passwd && echo nonroot:x:1000: >>/etc/group && install -d -o 1000 -g 1000 /home/nonroot
COPY conda.sh /opt/miniconda3/etc/profile.d/conda.sh
COPY activate /opt/miniconda3/bin/activate
COPY testbed_only.py /opt/miniconda3/envs/testbed/lib/python3.11/site-packages/testbed_only.py
COPY testbed /testbed
RUN echo '. /opt/miniconda3/etc/profile.d/conda.sh && conda activate testbed' >>/root/.bashrc
ENV TZ=Etc/UTC
WORKDIR /testbed
DOCKERFILE
    mkdir "$scratch/user"
    from_dockerfile patchmill-layout-user:1 "$scratch/user" <<'DOCKERFILE'
FROM patchmill-layout:1
RUN chown -R nonroot:nonroot /testbed && cp /root/.bashrc /home/nonroot/.bashrc && chown nonroot:nonroot /home/nonroot/.bashrc
USER nonroot
DOCKERFILE
    mkdir "$scratch/app"
    from_dockerfile patchmill-layout-app:1 "$scratch/app" <<'DOCKERFILE'
FROM patchmill-layout:1
RUN mv /testbed /app && python3 -m venv --copies --without-pip /app/.venv \
 && mv /opt/miniconda3/envs/testbed/lib/python3.11/site-packages/testbed_only.py /app/.venv/lib/python3.11/site-packages/ \
 && rm -r /opt/miniconda3 /root/.bashrc && chown -R nonroot:nonroot /app
USER nonroot
WORKDIR /app
DOCKERFILE
}
