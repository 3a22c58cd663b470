# patchmill-base:bookworm: Debian 12 with what tasks usually need. The archive's mirror is the tool's own default.

SUITE=bookworm
# perl comes with git; busybox-static is where the image `busybox` takes its program from.
PACKAGES=bash,busybox-static,ca-certificates,file,gcc,git,libc6-dev,make,patch,procps,python3,python3-venv

base_images() {
    echo "patchmill-base:$SUITE"
}

base_from() {
    :
}

base_build() {
    command -v mmdebstrap >/dev/null ||
        fail "mmdebstrap is missing; it makes the base image from Debian's packages" "on Debian: apt-get install mmdebstrap"
    local log="$scratch/log" drop=() path
    # Nobody reads manuals in a sandbox; licences stay.
    for path in /usr/share/doc/'*' /usr/share/man/'*' /usr/share/info/'*' /usr/share/locale/'*'; do
        drop+=(--dpkgopt="path-exclude=$path")
    done
    # The same packages give the same bytes. Configuration without apt in the image: nothing can be installed there anyway.
    if ! SOURCE_DATE_EPOCH=1700000000 mmdebstrap --quiet --variant=essential --include="$PACKAGES" "${drop[@]}" \
        --dpkgopt=force-unsafe-io --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --customize-hook='rm -rf "$1"/var/cache/* "$1"/var/log/* "$1"/etc/hostname "$1"/etc/resolv.conf' \
        "$SUITE" "$scratch/root.tar" >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        fail "the base image cannot be made from Debian's packages" "this needs Debian's archive over the network, its keys (debian-archive-keyring), and root or user namespaces"
    fi
    docker import --change "$(label)" --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
        --change 'ENV LANG=C.UTF-8' --change 'CMD ["/bin/bash"]' "$scratch/root.tar" "$(base_images)" >/dev/null
}
