//! Under which conditions patches are graded: what is chosen, what a sandbox then is, and where it is told.

use std::fs;

use schema::grading::Profile;
use schema::report::{GradingReport, Report};
use serde_json::{Value, json};

use crate::command::Place;
use crate::fixture::Fixture;

/// What an evaluation script sees, and the results of its tests.
const LOOK: &str = r#"for name in TZ PYTHONHASHSEED TERM PAGER NO_COLOR CI; do eval "echo \"$name=\${$name-unset}\""; done
while read -r name value; do case $name in CapBnd:|NoNewPrivs:) echo "$name$value";; esac; done </proc/self/status
echo "interfaces=$(grep -c : /proc/net/dev)"
echo 'ok 1 value'
echo 'ok 2 keep'
"#;

fn fixture(place: Place) -> Fixture {
    let mut fixture = Fixture::at(place, 1);
    fixture.script(&["echo good > value.txt"]);
    fixture.change(0, "eval_script", json!(LOOK));
    fixture
}

fn of_grading(fixture: &Fixture, grading: u32, name: &str) -> String {
    let directory = format!("instances/{}/s1-a1/grade-{grading}", fixture.id(0));
    fs::read_to_string(fixture.file(&directory).join(name)).unwrap()
}

fn report(fixture: &Fixture, grading: u32) -> GradingReport {
    serde_json::from_str(&of_grading(fixture, grading, "verdict.json")).unwrap()
}

/// The variable or number that the script told.
fn seen(fixture: &Fixture, grading: u32, name: &str) -> String {
    let log = of_grading(fixture, grading, "test_output.txt");
    let line = log.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{name} in {log}")).to_owned()
}

#[test]
fn every_report_names_the_profile() {
    let fixture = fixture(Place::new());
    let said = fixture.run(&["--grade"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let first = report(&fixture, 1);
    assert_eq!(first.profile, Profile::Sealed);
    // On this machine nothing is cut off, which is told.
    assert_eq!(first.unmet, ["network", "filesystem"]);
    let said = fixture.grade(&["--only", "all", "--grade-profile", "official"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let second = report(&fixture, 2);
    assert_eq!(second.profile, Profile::Official);
    assert_eq!(second.unmet, ["image"]);

    for (name, sealed) in [
        ("TZ=", "UTC"),
        ("PYTHONHASHSEED=", "0"),
        ("TERM=", "dumb"),
        ("NO_COLOR=", "unset"),
        ("CI=", "unset"),
    ] {
        assert_eq!(seen(&fixture, 1, name), sealed, "{name}");
    }
    assert_eq!(seen(&fixture, 2, "TZ="), "unset");

    let results = fs::read_to_string(fixture.file("results.csv")).unwrap();
    assert!(results.contains(",official,"), "{results}");
    let report = fs::read(fixture.file("report.json")).unwrap();
    let report: Report = serde_json::from_slice(&report).unwrap();
    assert_eq!(report.instances[0].profile, Some(Profile::Official));
    let profiles = report.summary.grading.unwrap().profiles;
    assert_eq!(profiles, [(Profile::Official, 1)].into());
}

#[test]
fn variables_that_the_user_gives_are_left_alone() {
    let fixture = fixture(Place::new());
    let said = fixture.run(&["--grade", "--env", "TZ=Asia/Tokyo"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(seen(&fixture, 1, "TZ="), "Asia/Tokyo");
    assert_eq!(seen(&fixture, 1, "PYTHONHASHSEED="), "0");
}

#[test]
fn a_container_is_as_its_profile_says() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let mut fixture = fixture(Place::new());
    fixture.change(0, "image", json!(image));
    let said = fixture.run(&["--grade", "--sandbox", "docker"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(report(&fixture, 1).unmet, Vec::<String>::new());
    assert_eq!(seen(&fixture, 1, "interfaces="), "1");
    assert_eq!(seen(&fixture, 1, "CapBnd:"), "0000000000000000");
    assert_eq!(seen(&fixture, 1, "NoNewPrivs:"), "1");
    assert_eq!(seen(&fixture, 1, "PAGER="), "cat");

    let said = fixture.grade(&["--only", "all", "--grade-profile", "official"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let second = report(&fixture, 2);
    assert!(second.verdict.resolved && !second.cached);
    assert_ne!(seen(&fixture, 2, "CapBnd:"), "0000000000000000");
    assert_eq!(seen(&fixture, 2, "NoNewPrivs:"), "0");
    assert_eq!(seen(&fixture, 2, "PAGER="), "unset");
    // An engine whose network does not work grades without it, and says so once.
    let warned = said.err.matches("without the network").count();
    match seen(&fixture, 2, "interfaces=").as_str() {
        "1" => assert_eq!((second.unmet, warned), (vec!["network".to_owned()], 1)),
        _ => assert_eq!((second.unmet, warned), (Vec::new(), 0)),
    }
}

#[test]
fn the_choice_hangs_on_dataset_and_image_and_is_told() {
    let mut fixture = Fixture::new(3);
    fixture.script(&["true"]);
    fixture.change(0, "image", json!("patchmill-base:bookworm"));
    fixture.change(
        1,
        "image",
        json!("mirror.test/sweb.eval.x86_64.tiny:latest"),
    );
    let chosen = |more: &[&str]| -> Vec<(String, String)> {
        let flags = [&["--dry-run", "--format", "json"][..], more].concat();
        let said = fixture.run(&flags);
        assert_eq!(said.code, 0, "{}", said.all());
        let told: Value = serde_json::from_str(&said.out).unwrap();
        let attempts = told["attempts"].as_array().unwrap();
        let text = |attempt: &Value, field: &str| {
            let text = attempt["grading"][field].as_str();
            text.unwrap().to_owned()
        };
        attempts
            .iter()
            .map(|one| (text(one, "profile"), text(one, "profile_origin")))
            .collect()
    };
    let pair = |profile: &str, origin: &str| (profile.to_owned(), origin.to_owned());
    let sealed = pair("sealed", "by default");
    let official = pair("official", "by the row's `image`");
    assert_eq!(chosen(&[]), [sealed.clone(), official, sealed]);
    let given = pair("official", "as given");
    assert_eq!(
        chosen(&["--grade-profile", "official"]),
        [given.clone(), given.clone(), given]
    );
    let said = fixture.run(&["--dry-run", "--grade"]);
    assert!(
        said.out.contains("profile sealed by default"),
        "{}",
        said.out
    );
}

/// The share of the processors that a container may have, in hundred thousandths.
const QUOTA: &str = "quota=$(cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d ' ' -f 1 /sys/fs/cgroup/cpu.max)
echo \"quota=$quota\"
echo 'ok 1 value'
echo 'ok 2 keep'
";

#[test]
fn processors_are_those_of_the_flag_or_of_the_rules() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let mut fixture = Fixture::new(1);
    fixture.script(&["echo good > value.txt"]);
    fixture.change(0, "image", json!(image));
    fixture.change(0, "eval_script", json!(QUOTA));
    fixture.place.write(
        "rules.toml",
        "repository = 'tiny/tiny'\nlog_parser = 'tap'\ncpus = 1\ntest_command = 'true'\n",
    );
    let rules = ["--repository-rules", "rules.toml"];
    let said = fixture.run(&[&["--grade", "--sandbox", "docker"], &rules[..]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(seen(&fixture, 1, "quota="), "100000");
    let said = fixture.grade(&["--only", "all", "--cpus", "0.5"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(seen(&fixture, 2, "quota="), "50000");
    let said = fixture.grade(&["--only", "all", "--grade-cpus", "none"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(["-1", "max"].contains(&&*seen(&fixture, 3, "quota=")));
}
