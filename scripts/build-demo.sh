#!/bin/sh
# Builds the repositories of datasets/demo.jsonl from their fast-import streams, as bare repositories:
#
#   scripts/build-demo.sh [DIRECTORY]        default: target/demo/repos, where the rows look for them
#
# A repository that was built from the same stream is left alone. Needs git and nothing else; no configuration of the
# user or of the machine has a say, so the commit ids are always those in the rows.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
repos=${1:-$top/target/demo/repos}

unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_NAMESPACE \
    GIT_CEILING_DIRECTORIES GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_TEMPLATE_DIR GIT_DEFAULT_REF_FORMAT GIT_TRACE
GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_DEFAULT_HASH=sha1 LC_ALL=C
export GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM GIT_DEFAULT_HASH LC_ALL
umask 022

# build STREAM REPOSITORY: in a directory of its own first, so that nobody ever sees half a repository.
build() {
    stream=$1
    repository=$2
    digest=$(git hash-object --no-filters "$stream")
    if [ "$(cat "$repository/built-from" 2>/dev/null)" = "$digest" ]; then
        return
    fi
    new=$(mktemp -d "$repos/.new.XXXXXX")
    git init --quiet --bare --template= --initial-branch=main "$new"
    git --git-dir="$new" fast-import --quiet < "$stream"
    echo "$digest" > "$new/built-from"
    chmod 755 "$new"
    if [ -e "$repository" ]; then
        old=$(mktemp -d "$repos/.old.XXXXXX")
        mv "$repository" "$old/"
        rm -rf "$old"
    fi
    # Somebody who built it at the same time built the same.
    mv -T "$new" "$repository" 2>/dev/null || rm -rf "$new"
    echo "built $repository" >&2
}

mkdir -p "$repos"
for stream in "$top"/datasets/demo/*.fast-import; do
    name=${stream##*/}
    build "$stream" "$repos/${name%.fast-import}.git"
done
