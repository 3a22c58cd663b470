#!/usr/bin/env bash
# Builds Patchmill's own container images, without any image registry:
#
#   scripts/images/build.sh [--missing] [NAME...]      default: all of them but `real`
#   scripts/images/build.sh --built NAME...            only says by its exit code whether all of them are there
#
#   base      patchmill-base:bookworm   Debian with git, bash, python3 and a C compiler, from Debian's packages
#   busybox   patchmill-busybox:1       busybox alone: sh, but no bash
#   empty     patchmill-empty:1         no program at all
#   layout    patchmill-layout:1, -layout-user:1, -layout-app:1    laid out as datasets' own images: an environment, a decoy Python, /testbed or /app
#   pytest    patchmill-pytest:1        the base with pytest and Django, from Python's package index
#   awkward   patchmill-awkward:1       an entry point, a volume, a health check, and a user that no file knows
#   demo      patchmill-demo:INSTANCE   the demo's repositories at /testbed, one image for each row
#   real      patchmill-real:INSTANCE   a few real instances, where their rows and PyPI can be reached
#
# An image is built again only when its script, or the image that it is made from, has changed; with --missing, only when it does not exist.
# Only `base`, `pytest` and `real` need the network. Needs docker with an engine that answers, and for `base` mmdebstrap.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/engine.sh"

all=(base busybox empty layout pytest awkward demo)
mode=changed
names=()
for word in "$@"; do
    case $word in
        --missing) mode=missing ;;
        --built) mode=built ;;
        -*) fail "unknown option $word" ;;
        *) names+=("$word") ;;
    esac
done
[ ${#names[@]} -gt 0 ] || names=("${all[@]}")
for name in "${names[@]}"; do
    [[ " ${all[*]} real " == *" $name "* ]] || fail "no image is called $name: there are ${all[*]} real"
done

engine_answers
if [ "$mode" = built ]; then
    for name in "${names[@]}"; do
        . "$here/$name.sh"
        for image in $("${name}_images"); do
            exists "$image" || exit 1
        done
    done
    exit 0
fi
one_at_a_time
for name in "${names[@]}"; do
    if [ "$name" = real ]; then
        . "$here/real.sh"
        # What makes them asks for the base image by this script, and waits for the lock itself.
        flock --unlock 8
        real_make
        flock 8
    else
        build "$name"
    fi
done
