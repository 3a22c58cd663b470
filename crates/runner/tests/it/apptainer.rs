//! Batches by Apptainer's command line, on a stand-in for the program.

use crate::command::{Place, permitted};
use crate::fixture::Fixture;

#[test]
fn a_batch_is_solved_and_graded_in_a_file_of_an_image() {
    let works = ["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "true"];
    if !permitted("bwrap", &works) {
        return;
    }
    let programs = tempfile::tempdir().unwrap();
    testkit::apptainer(programs.path());
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", programs.path().display());
    let fixture = Fixture::at(Place::new().variable("PATH", &path), 1);
    let unpacked = programs.path().join("unpacked");
    testkit::apptainer_image(&unpacked);
    testkit::apptainer_file(&unpacked, &fixture.place.path().join("Image.sif"));
    fixture.script(&["test $HOME = /root && test -e /.borrow && echo good > value.txt"]);
    let flags = [
        "--sandbox",
        "apptainer",
        "--image",
        "./Image.sif",
        "--grade",
        "--fail-under=1",
    ];
    let said = fixture.run(&flags);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.err.contains("not yet been run on the real program"),
        "{}",
        said.err
    );
    let header = serde_json::to_value(&fixture.trajectory(0).header).unwrap();
    let header = header.to_string();
    assert!(
        header.contains("\"apptainer\"") && header.contains("sha256:"),
        "{header}"
    );
}

#[test]
fn apptainer_that_is_not_there_is_named_with_what_to_do() {
    let programs = tempfile::tempdir().unwrap();
    let nowhere = programs.path().display().to_string();
    let fixture = Fixture::at(Place::new().variable("PATH", &nowhere), 1);
    fixture.script(&["true"]);
    let said = fixture.run(&["--sandbox", "apptainer"]);
    assert_eq!(said.code, 2, "{}", said.all());
    let hint = said.err.contains("is not to be had here") && said.err.contains("install it");
    assert!(hint, "{}", said.err);
}
