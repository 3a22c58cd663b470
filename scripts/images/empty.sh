# patchmill-empty:1: files, but no program: no sandbox can run there, and the error must say so.

empty_images() {
    echo patchmill-empty:1
}

empty_from() {
    :
}

empty_build() {
    mkdir -p "$scratch/root/etc"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$scratch/root/etc/passwd"
    tar -C "$scratch/root" --sort=name --mtime=@1700000000 --owner=0 --group=0 --numeric-owner -cf "$scratch/root.tar" .
    docker import --change "$(label)" --change 'CMD ["/bin/sh"]' "$scratch/root.tar" patchmill-empty:1 >/dev/null
}
