#!/bin/sh
# Makes a repository in the directory $1 in which everything but the start commit's history is forbidden: whatever names or holds it says FORBIDDEN.
# What lies beside it (a borrowed object directory, a linked work tree, a submodule's origin) goes to $1.beside.
set -e
r=$1
b=$1.beside
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=z GIT_AUTHOR_EMAIL=z@example.invalid GIT_COMMITTER_NAME=z GIT_COMMITTER_EMAIL=z@example.invalid
export GIT_AUTHOR_DATE=2024-01-01T00:00:00Z GIT_COMMITTER_DATE=2024-01-01T00:00:00Z
forbidden() { echo "FORBIDDEN $1" >"fix-$1.txt"; git add -A; git commit -q -m "FORBIDDEN $1"; }

mkdir -p "$b/inner"
cd "$b/inner"
git init -q -b main
echo inner >inner.txt
git add -A
git commit -q -m inner
echo later >later.txt
git add -A
git commit -q -m "FORBIDDEN inner"

mkdir -p "$r"
cd "$r"
git init -q -b main
printf '*.log\nbuild/\n' >.gitignore
echo one >a.txt
echo gone >gone.txt
mkdir dir
echo deep >dir/deep.txt
git add -A
git commit -q -m first
git tag v1
git -c protocol.file.allow=always submodule --quiet add "$b/inner" vendor/inner
git -C vendor/inner checkout -q HEAD~1
git add -A
git commit -q -m "with a submodule"
echo two >>a.txt
git commit -q -am base
base=$(git rev-parse HEAD)

git checkout -q -b future
forbidden branch
forbidden branch-two
git tag -a -m "FORBIDDEN tag" v2
git repack -q -a -d
git checkout -q main
git reset -q --hard "$base"
forbidden reflog
git reset -q --hard "$base"
echo "FORBIDDEN stash" >>a.txt
git stash -q
git notes add -m "FORBIDDEN note" "$base"
git checkout -q --detach "$base"
forbidden loose
git checkout -q main
echo "FORBIDDEN dangling" | git hash-object -w --stdin >/dev/null
git worktree add -q --detach "$b/linked" future
git remote add origin https://example.invalid/z.git
git update-ref refs/remotes/origin/main future
git rev-parse future >.git/FETCH_HEAD

# Objects that are borrowed.
git clone -q --bare . "$b/borrowed.git"
git --git-dir="$b/borrowed.git" fetch -q . '+refs/*:refs/*' 2>/dev/null || :
borrowed=$(echo "FORBIDDEN borrowed" | git --git-dir="$b/borrowed.git" hash-object -w --stdin)
echo "$b/borrowed.git/objects" >.git/objects/info/alternates
git cat-file -e "$borrowed"

# Not as HEAD has it: changed, staged, missing, new.
git checkout -q --detach "$base"
echo "changed before" >>a.txt
rm gone.txt
echo before >untracked.txt
mkdir -p build
echo out >build/out
echo staged >staged.txt
git add staged.txt

# History as others would have it.
echo "$base $(git rev-parse future)" >.git/info/grafts
git replace -f "$base" future 2>/dev/null
