//! A graded batch in Podman's containers, without root's rights.

use serde_json::json;

use crate::command::Place;
use crate::fixture::Fixture;

#[test]
fn a_batch_is_solved_and_graded_on_podman() {
    let Some(image) = testkit::podman_image("base") else {
        return;
    };
    let host = std::env::var("CONTAINER_HOST").unwrap();
    let place = Place::new().variable("CONTAINER_HOST", &host);
    let mut fixture = Fixture::at(place, 2);
    for index in 0..2 {
        fixture.change(index, "image", json!(image));
    }
    fixture.script(&["echo good > value.txt"]);
    let flags = ["--sandbox", "podman", "--grade", "--fail-under=1"];
    let said = fixture.run(&flags);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("2 resolved"), "{}", said.all());
    let header = serde_json::to_value(&fixture.trajectory(0).header).unwrap();
    let applied = &header["environment"]["applied"];
    assert_eq!(applied["network"], "none", "{applied}");
    assert!(header.to_string().contains("\"podman\""), "{header}");
    let left = std::fs::read_dir(fixture.place.path().join("scratch")).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name());
    // When images were used is remembered.
    assert_eq!(names.filter(|name| name != "images-used").count(), 0);
}

#[test]
fn podman_that_does_not_answer_is_named_with_what_to_do() {
    let place = Place::new().variable("CONTAINER_HOST", "unix:///nowhere/podman.sock");
    let fixture = Fixture::at(place, 1);
    fixture.script(&[]);
    let said = fixture.run(&["--sandbox", "podman"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(
        said.err.contains("/nowhere/podman.sock") && said.err.contains("podman.socket"),
        "{}",
        said.all()
    );
}
