#!/bin/sh
# Stands in for Apptainer where it cannot be had: the same command line, read as strictly as its documentation has it, in namespaces of bubblewrap's.
#
# An image is a tar archive, or a directory. All registries are the directory `registry` beside it, where slashes and colons in a name are `_`; each pull
# is a line in its file `pulls`, and a name with `.busy` behind it fails once. Images without programs of their own (.borrow) get the host's /usr.
set -eu

fatal() {
    echo "INFO:    something else" >&2
    echo "FATAL:   $1" >&2
    exit 255
}

[ "${1:-}" = --silent ] && shift
command=${1:-}
shift || fatal "no command"

case $command in
    --version)
        echo "apptainer version 1.6.0-standin"
        ;;
    pull)
        architecture=
        while :; do
            case $1 in
                --force) shift ;;
                --arch) architecture=$2 && shift 2 ;;
                -*) fatal "unknown flag: $1" ;;
                *) break ;;
            esac
        done
        [ $# -eq 2 ] || fatal "accepts 2 arguments"
        registry=${0%/*}/registry
        echo "$2 $architecture" >>"$registry/pulls"
        name=$(printf '%s' "${2#docker://}" | tr '/:' '__')
        if [ -f "$registry/$name.busy" ]; then
            rm "$registry/$name.busy"
            fatal "While making image from oci registry: connection reset by peer"
        fi
        [ -f "$registry/$name" ] || fatal "While making image from oci registry: reading manifest: manifest unknown"
        cp "$registry/$name" "$1"
        ;;
    build)
        sandbox=
        while :; do
            case $1 in
                --force) shift ;;
                --sandbox) sandbox=1 && shift ;;
                -*) fatal "unknown flag: $1" ;;
                *) break ;;
            esac
        done
        [ $# -eq 2 ] || fatal "accepts 2 arguments"
        source=${2#docker-archive:}
        [ -e "$source" ] || fatal "while building: stat $source: no such file or directory"
        if [ -z "$sandbox" ]; then
            cp "$source" "$1"
        else
            [ ! -e "$1" ] || fatal "build target $1 already exists"
            mkdir "$1"
            if [ -d "$source" ]; then
                cp -a "$source/." "$1"
            else
                tar -xf "$source" -C "$1"
            fi
        fi
        ;;
    exec)
        directory=/ home= cut= fakeroot= contained= clean= writable= powerless=
        more=$(mktemp)
        while :; do
            case $1 in
                --containall) contained=1 ;;
                --cleanenv) clean=1 ;;
                --writable) writable=1 ;;
                --no-mount) [ "$2" = tmp ] && shift ;;
                --home) home=$2 && shift ;;
                --fakeroot) fakeroot=1 ;;
                --no-privs) powerless=1 ;;
                --net) [ "$2 $3" = "--network none" ] && cut=1 && shift 2 ;;
                --pwd) directory=$2 && shift ;;
                --bind) echo "$2" >>"$more" && shift ;;
                -*) fatal "unknown flag: $1" ;;
                *) break ;;
            esac
            shift
        done
        [ "$contained$clean$writable" = 111 ] || fatal "this is not how it is done here"
        root=$1
        shift
        [ -d "$root" ] || fatal "could not open image $root: no such file or directory"
        # What it is told is said by way of the positional parameters, from the last to the first.
        set -- --chdir "$directory" -- "$@"
        while IFS= read -r line; do
            host=${line%%:*}
            set -- --ro-bind "$host" "$host" "$@"
        done <"$more"
        rm "$more"
        [ -z "$home" ] || set -- --bind "${home%:*}" "${home##*:}" --setenv HOME "${home##*:}" "$@"
        # Only what is handed on by name gets in.
        for name in $(env | sed -n 's/^APPTAINERENV_\([A-Za-z0-9_]*\)=.*/\1/p'); do
            eval "value=\$APPTAINERENV_$name"
            set -- --setenv "$name" "$value" "$@"
        done
        set -- --setenv PATH /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
        [ ! -e "$root/.borrow" ] || set -- --ro-bind /usr /usr "$@"
        [ -z "$cut" ] || set -- --unshare-net "$@"
        [ -z "$fakeroot" ] || set -- --unshare-user --uid 0 --gid 0 "$@"
        [ -z "$powerless" ] || set -- --cap-drop ALL "$@"
        exec bwrap --bind "$root" / --clearenv --proc /proc --dev /dev --unshare-pid --unshare-ipc --die-with-parent "$@"
        ;;
    *) fatal "unknown command $command" ;;
esac
