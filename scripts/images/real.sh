# patchmill-real:INSTANCE: real instances of SWE-bench, rebuilt from what their projects publish on PyPI and laid out as published images are.
# They need rows of the dataset, which are not part of this repository, and PyPI: where either is missing they are left out, and it is said.

real_instances=(pallets__flask-4992 pallets__flask-5063 pytest-dev__pytest-11148 sphinx-doc__sphinx-11445)

real_images() {
    printf 'patchmill-real:%s\n' "${real_instances[@]}"
}

real_make() {
    local top rows out
    top=$(cd "$here/../.." && pwd)
    rows=${PATCHMILL_CONFORMANCE:-$top/../shared/conformance}/instances/swe-bench-lite-sample.jsonl
    out=${XDG_CACHE_HOME:-$HOME/.cache}/patchmill/real
    if [ ! -r "$rows" ]; then
        echo "SKIPPED: real instances need rows of SWE-bench Lite at $rows; PATCHMILL_CONFORMANCE says where else" >&2
    elif ! python3 "$top/scripts/real-instances.py" --rows "$rows" --out "$out" --docker "${real_instances[@]}"; then
        echo "SKIPPED: none of the real instances can be rebuilt; their sources come from PyPI" >&2
    else
        echo "real instances: --dataset $out/instances-docker.jsonl --model script:$out/scripts-docker --sandbox docker" >&2
    fi
}
