# patchmill-busybox:1: sh and the small tools, without bash. For what must work in images that hold little.

busybox_images() {
    echo patchmill-busybox:1
}

busybox_from() {
    echo base
}

busybox_build() {
    mkdir "$scratch/context"
    local container
    container=$(docker create --pull never --network none patchmill-base:bookworm /bin/true)
    docker cp "$container:/bin/busybox" "$scratch/context/busybox" >/dev/null 2>&1
    docker rm --force "$container" >/dev/null
    # Directories that every system has; /tmp is open to all.
    (cd "$scratch/context" && mkdir -p root/etc root/root root/tmp root/usr/bin && chmod 1777 root/tmp &&
        echo 'root:x:0:0:root:/root:/bin/sh' >root/etc/passwd && echo 'root:x:0:' >root/etc/group)
    from_dockerfile patchmill-busybox:1 "$scratch/context" <<'DOCKERFILE'
FROM scratch
COPY root /
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
ENV PATH=/usr/bin:/bin
CMD ["/bin/sh"]
DOCKERFILE
}
