# patchmill-demo:INSTANCE for each row of datasets/demo.jsonl: its repository at /testbed.
. "$here/repositories.sh"

demo_images() {
    demo_rows | while read -r instance _; do
        echo "patchmill-demo:$instance"
    done
}

demo_from() {
    echo base
}

demo_files() {
    demo_sources
}

demo_build() {
    local instance repository commit
    "$top/scripts/build-demo.sh" "$scratch/repositories" 2>/dev/null
    while read -r instance repository commit; do
        checkout "$scratch/repositories/$repository" "$commit" "$scratch/$instance/testbed"
        with_files patchmill-base:bookworm "patchmill-demo:$instance" "$scratch/$instance" 'WORKDIR /testbed'
    done < <(demo_rows)
}
