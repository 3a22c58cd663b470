//! What an agent in a bubblewrap sandbox can see of this machine.

use schema::Event;

use crate::command::{Place, permitted};
use crate::fixture::Fixture;

fn bubblewrap_works() -> bool {
    permitted(
        "bwrap",
        &["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "true"],
    )
}

#[test]
fn answers_other_runs_and_secrets_are_hidden() {
    if !bubblewrap_works() {
        return;
    }
    let fixture = Fixture::at(Place::visible(), 1);
    let at = |name: &str| fixture.place.path().join(name).display().to_string();
    fixture.place.write("beside/run.json", "{}");
    fixture.place.write("beside/patches/a.patch", "secret");
    fixture.place.write("runs/other/patches/a.patch", "secret");
    fixture
        .place
        .write("keys.toml", "headers = { x-key = \"secret\" }\n");
    fixture.place.write("plain.txt", "open");
    let look = |name: &str| format!("cat {} 2>&1; true", at(name));
    let looks = [
        "beside/patches/a.patch",
        "runs/other/patches/a.patch",
        "run/run.json",
        "rows.jsonl",
        "script.jsonl",
        "keys.toml",
    ]
    .map(look);
    let mut commands: Vec<&str> = looks.iter().map(String::as_str).collect();
    let open = look("plain.txt");
    let variable = "echo place=$PATCHMILL_PLACE=; echo good > value.txt";
    commands.extend([open.as_str(), variable]);
    fixture.script(&commands);
    let said = fixture.run(&["--sandbox", "bubblewrap", "--config", "./keys.toml"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let results: Vec<String> = fixture
        .trajectory(0)
        .events
        .into_iter()
        .filter_map(|record| match record.event {
            Event::ToolDone { run, .. } => Some(run.result.content),
            _ => None,
        })
        .collect();
    for (look, result) in looks.iter().zip(&results) {
        let hidden = result.contains("No such file") || result.starts_with("[no output]");
        assert!(hidden || result.trim().is_empty(), "{look}: {result}");
    }
    assert!(results[looks.len()].starts_with("open"));
    let place = &results[looks.len() + 1];
    assert!(place.contains("place=") && !place.contains('/'), "{place}");
    fixture.assert_clean();
}
