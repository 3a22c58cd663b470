use super::*;

fn surroundings(variables: &[(&str, &str)]) -> Surroundings {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Surroundings {
        directory: PathBuf::from("/nowhere"),
        variables: variables.iter().map(owned).collect(),
    }
}

fn load(variables: &[(&str, &str)], sets: &[&str], flags: Table) -> Result<Resolved, Error> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Resolved::load(&surroundings(variables), &[], &sets, flags)
}

fn message(error: &Error) -> String {
    format!("{error}; {}", error.hints().join("; "))
}

#[test]
fn every_default_is_a_setting_and_is_valid() {
    let resolved = load(&[], &[], Table::new()).unwrap();
    let options = resolved.options().unwrap();
    assert_eq!(options.batch.workers, Some(4));
    assert_eq!(options.acting.must_patch, Some(true));
    assert!(!resolved.is_explicit("workers"));
}

#[test]
fn a_flag_beats_a_variable_beats_a_file_beats_a_default() {
    let home = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("patchmill")).unwrap();
    let user = home.path().join("patchmill/config.toml");
    std::fs::write(&user, "workers = 1\nsamples = 1\nseed = 1\nmax_tries = 1\n").unwrap();
    let file = project.path().join("patchmill.toml");
    std::fs::write(
        &file,
        "workers = 2\nsamples = 2\nseed = 2\ndataset = \"d.jsonl\"\n",
    )
    .unwrap();
    let surroundings = Surroundings {
        directory: project.path().to_owned(),
        variables: [
            ("XDG_CONFIG_HOME", home.path().to_str().unwrap()),
            ("PATCHMILL_WORKERS", "3"),
            ("PATCHMILL_SAMPLES", "3"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
    };
    let flags = Table::from_iter([("workers".to_owned(), 4.into())]);
    let resolved = Resolved::load(&surroundings, &[], &[], flags).unwrap();
    let options = resolved.options().unwrap();
    assert_eq!(options.batch.workers, Some(4));
    assert_eq!(options.batch.samples, Some(3));
    assert_eq!(options.selection.seed, Some(2));
    assert_eq!(options.model.max_tries, Some(1));
    let dataset = options.selection.dataset.unwrap();
    assert_eq!(dataset, project.path().join("d.jsonl"));
    let origin = |key| resolved.origin(key).unwrap().to_string();
    assert_eq!(origin("workers"), "flag --workers");
    assert_eq!(origin("samples"), "variable PATCHMILL_SAMPLES");
    assert_eq!(origin("seed"), "project file patchmill.toml");
    assert_eq!(origin("max_tries"), format!("user file {}", user.display()));
    assert_eq!(origin("grace"), "default");
}

#[test]
fn an_unknown_key_names_its_line_and_the_nearest_key() {
    let error = file::parse("\nworkers = 2\nmax_step = 3\n", Path::new("x.toml")).unwrap_err();
    assert_eq!(
        message(&error),
        "x.toml:3: unknown key `max_step`; did you mean `max_steps`?"
    );
}

#[test]
fn a_wrong_value_names_its_line_and_key() {
    let parse = |text| message(&file::parse(text, Path::new("x.toml")).unwrap_err());
    insta::assert_snapshot!(parse("workers = \"many\""), @r#"x.toml:1: `workers`: invalid type: string "many", expected usize; "#);
    insta::assert_snapshot!(parse("# c\nmax_wall_time = \"soon\""), @"x.toml:2: `max_wall_time`: `soon` is not a length of time such as `90`, `90s` or `1h30m`, nor `none`; ");
    insta::assert_snapshot!(parse("sandbox = \"dokcer\""), @"x.toml:1: `sandbox`: unknown variant `dokcer`, expected one of `auto`, `local`, `bubblewrap`, `docker`, `podman`, `apptainer`; ");
    insta::assert_snapshot!(parse("workers = 1\nworkers = 2"), @"x.toml:2: duplicate key; ");
    insta::assert_snapshot!(parse("workers = = 2"), @"x.toml:1: extra `=`, expected nothing; ");
}

#[test]
fn variables_that_are_no_settings_are_named() {
    let resolved = load(&[("PATCHMILL_WORKER", "3")], &[], Table::new()).unwrap();
    assert_eq!(
        resolved.warnings,
        ["`PATCHMILL_WORKER` is no setting and is ignored; did you mean `PATCHMILL_WORKERS`?"]
    );
    let error = load(&[("PATCHMILL_WORKERS", "x")], &[], Table::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "PATCHMILL_WORKERS: `workers`: invalid type: string \"x\", expected usize"
    );
}

#[test]
fn set_reaches_into_tables_and_merges_name_by_name() {
    let sets = [
        "env.A=1",
        "env.B=two words",
        "extra_body.top_p=0.5",
        "max_steps=none",
    ];
    let flags = Table::from_iter([("env".to_owned(), serde_json::json!({"B": "3"}))]);
    let options = load(&[], &sets, flags).unwrap().options().unwrap();
    let env: Vec<_> = options.sandbox.env.unwrap();
    let env: Vec<_> = env.iter().map(|pair| (&*pair.name, &*pair.value)).collect();
    assert_eq!(env, [("A", "1"), ("B", "3")]);
    assert_eq!(options.model.extra_body.unwrap()["top_p"], 0.5);
    assert_eq!(options.agent.max_steps, Some(values::Cap::Off));
    let error = load(&[], &["max_setps=3"], Table::new()).unwrap_err();
    assert_eq!(
        message(&error),
        "--set max_setps=3: unknown key `max_setps`; did you mean `max_steps`?"
    );
}

#[test]
fn what_is_shown_hides_secrets_and_names_origins() {
    let flags = Table::from_iter([("env".to_owned(), serde_json::json!({"TOKEN": "hush"}))]);
    let resolved = load(&[("PATCHMILL_MAX_STEPS", "7")], &[], flags).unwrap();
    let text = show(&resolved, false).unwrap();
    assert!(!text.contains("hush"), "{text}");
    assert!(
        text.contains("max_steps = 7  # variable PATCHMILL_MAX_STEPS\n"),
        "{text}"
    );
    assert!(
        text.contains("[env]  # flag --env\nTOKEN = \"(hidden)\"\n"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&show(&resolved, true).unwrap()).unwrap();
    assert_eq!(
        json["workers"],
        serde_json::json!({"value": 4, "origin": "default"})
    );
}
