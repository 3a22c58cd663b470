# patchmill-awkward:1: what images may declare that must not get in the way of work in them.

awkward_images() {
    echo patchmill-awkward:1
}

awkward_from() {
    echo base
}

awkward_build() {
    mkdir "$scratch/context"
    from_dockerfile patchmill-awkward:1 "$scratch/context" <<'DOCKERFILE'
FROM patchmill-base:bookworm
RUN mkdir -m 1777 /data && touch /data/brought
VOLUME /data
ENTRYPOINT ["/bin/false"]
CMD ["--never"]
HEALTHCHECK --interval=1s --retries=1 CMD touch /tmp/examined; false
STOPSIGNAL SIGUSR1
ENV BASH_ENV=/nowhere ENV=/nowhere
USER 4321
DOCKERFILE
}
