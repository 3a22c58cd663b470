# Repositories of the demo for images that hold one. Sourced by the scripts of such images.

top=$(cd "$here/../.." && pwd)

demo_sources() {
    printf '%s\n' "$top/datasets/demo" "$top/datasets/demo.jsonl" "$top/scripts/build-demo.sh" "$here/repositories.sh"
}

# git without the configuration of the user, and with fixed names and times.
plain_git() {
    env GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null \
        GIT_AUTHOR_NAME=patchmill GIT_AUTHOR_EMAIL=patchmill@example.org GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' \
        GIT_COMMITTER_NAME=patchmill GIT_COMMITTER_EMAIL=patchmill@example.org GIT_COMMITTER_DATE='2024-01-01T00:00:00Z' git "$@"
}

# demo_rows: instance, file name of its repository and base commit of each row of the demo.
demo_rows() {
    python3 -c '
import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    row = json.loads(line)
    print(row["instance_id"], row["repo_path"].rsplit("/", 1)[1], row["base_commit"])' "$top/datasets/demo.jsonl"
}

# checkout REPOSITORY COMMIT DIRECTORY: a clone whose branch stands at the commit. As in many real images, the tags behind it stay:
# taking the future away is the work of the seal.
checkout() {
    plain_git clone --quiet --no-hardlinks --no-checkout "$1" "$3"
    plain_git -C "$3" remote remove origin
    plain_git -C "$3" checkout --quiet -B main "$2"
}
