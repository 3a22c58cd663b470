# What the scripts of the images share. Sourced by build.sh with $here set; `build NAME` sources NAME.sh, which defines
#   NAME_images   the images that it makes, one a line
#   NAME_from     the names of those that it is made from, may be empty
#   NAME_files    further files and directories that it is made of, may be left out
#   NAME_build    makes them, each with `label` on it

fail() {
    echo "images: $1" >&2
    shift
    for hint in "$@"; do
        echo "hint: $hint" >&2
    done
    exit 1
}

engine_answers() {
    command -v docker >/dev/null || fail "there is no docker program" "install Docker's command line"
    local said
    said=$(timeout 20 docker version --format '{{.Server.Version}}' 2>&1) ||
        fail "no Docker engine answers: $(tail -n 1 <<<"$said")" "start the engine, or set DOCKER_HOST to one that runs"
}

# Tests run side by side and want the same image: the first builds it, the others wait and find it. The lock goes with the process.
one_at_a_time() {
    local lock="${TMPDIR:-/tmp}/patchmill-images-$(id -u).lock"
    exec 8>"$lock"
    flock 8
}

exists() {
    docker image inspect "$1" >/dev/null 2>&1
}

id_of() {
    docker image inspect --format '{{.Id}}' "$1" 2>/dev/null || true
}

# inputs NAME: digest of everything that the images of NAME are made of.
inputs() {
    local name=$1 parent image paths=("$here/$1.sh")
    if declare -F "${name}_files" >/dev/null; then
        mapfile -t -O ${#paths[@]} paths < <("${name}_files")
    fi
    {
        find "${paths[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | awk '{ print $1 }'
        for parent in $("${name}_from"); do
            for image in $("${parent}_images"); do
                id_of "$image"
            done
        done
    } | sha256sum | cut -c 1-64
}

# What every image carries, so that it is known what it was built from.
label() {
    echo "LABEL patchmill.inputs=$digest"
}

up_to_date() {
    local image
    for image in $("$1_images"); do
        if [ "$mode" = missing ]; then
            exists "$image" || return 1
        else
            [ "$(docker image inspect --format '{{index .Config.Labels "patchmill.inputs"}}' "$image" 2>/dev/null)" = "$digest" ] || return 1
        fi
    done
}

build() {
    local name=$1 parent image before=() digest
    . "$here/$name.sh"
    for parent in $("${name}_from"); do
        build "$parent"
    done
    digest=$(inputs "$name")
    if up_to_date "$name"; then
        return
    fi
    for image in $("${name}_images"); do
        before+=("$(id_of "$image")")
    done
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    "${name}_build"
    rm -rf "$scratch"
    trap - EXIT
    for image in $("${name}_images"); do
        echo "built $image, $(($(docker image inspect --format '{{.Size}}' "$image") / 1000000)) MB" >&2
    done
    forget "${before[@]}"
}

# Removes what new images have replaced, unless it has another name or is in use.
forget() {
    local id
    for id in "$@"; do
        if [ -n "$id" ] && [ "$(docker image inspect --format '{{len .RepoTags}}' "$id" 2>/dev/null)" = 0 ]; then
            docker image rm "$id" >/dev/null 2>&1 || true
        fi
    done
}

# from_dockerfile IMAGE CONTEXT: builds from the Dockerfile on standard input, labelled, without network.
from_dockerfile() {
    local image=$1 context=$2 kit=1
    docker buildx version >/dev/null 2>&1 || kit=0
    { cat && label; } >"$context/Dockerfile"
    local log="$scratch/build.log"
    if ! DOCKER_BUILDKIT=$kit docker build --network none --force-rm --tag "$image" "$context" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        fail "$image cannot be built"
    fi
}

# with_files PARENT IMAGE DIRECTORY CHANGE...: the parent and what lies in the directory, as one layer. Quicker than a build, which commits each step.
with_files() {
    local parent=$1 image=$2 directory=$3 container changes=(--change "$(label)") change
    for change in "${@:4}"; do
        changes+=(--change "$change")
    done
    container=$(docker create --pull never --network none "$parent" /bin/true)
    if docker cp --quiet "$directory/." "$container:/" && docker commit "${changes[@]}" "$container" "$image" >/dev/null; then
        docker rm --force "$container" >/dev/null
    else
        docker rm --force "$container" >/dev/null
        fail "$image cannot be made"
    fi
}
