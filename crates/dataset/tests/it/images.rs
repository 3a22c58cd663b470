//! Which image a row is worked on in.

use dataset::images::{Image, Naming, Origin};
use dataset::{LoadOptions, Row};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::conformance;

fn row(value: &Value) -> Row {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.json");
    std::fs::write(&path, json!([value]).to_string()).unwrap();
    let dataset = dataset::load(&path, &LoadOptions::default()).unwrap();
    dataset.rows.into_iter().next().unwrap()
}

/// A row with what all have, and these fields.
fn with(fields: &Value) -> Row {
    let mut value = json!({"problem_statement": "It is broken.", "base_commit": "0".repeat(40)});
    let fields = fields.as_object().unwrap().clone();
    value.as_object_mut().unwrap().extend(fields);
    row(&value)
}

fn image(naming: &Naming, row: &Row) -> Option<Image> {
    naming.image(row).unwrap()
}

fn named(row: &Row) -> String {
    image(&Naming::default(), row).unwrap().name
}

#[test]
fn each_family_has_its_rule() {
    let classic =
        json!({"instance_id": "Django__django-11299", "repo": "Django/django", "version": "3.0"});
    let gym =
        json!({"instance_id": "getmoto__moto-7365", "repo": "getmoto/moto", "version": "5.0"});
    let live = json!({"instance_id": "Aws__sdk-12", "repo": "Aws/sdk", "version": "1", "test_cmds": ["pytest -rA"]});
    let multi = json!({"org": "BurntSushi", "repo": "ripgrep", "number": 2626, "resolved_issues": [{"title": "t", "body": "b"}]});
    let pro = json!({"instance_id": "instance_a__b-1", "repo": "a/b", "requirements": "r", "interface": "i", "dockerhub_tag": "a.b-A__b-1"});
    let pro_without_tag = |id: &str, repo: &str| json!({"instance_id": id, "repo": repo, "requirements": "r", "interface": null});
    let long = format!(
        "instance_Owner__name-{}-v{}",
        "a".repeat(40),
        "b".repeat(80)
    );
    let rebench = json!({"instance_id": "a__b-1", "repo": "a/b", "install_config": {}, "image_name": "sweb.eval.x86_64.a__b-1"});
    let smith = json!({"instance_id": "a__b.95280573.pr_1", "repo": "swesmith/a__b.95280573", "image_name": "swesmith.x86_64.a__b.95280573"});
    for (fields, family, name, workdir) in [
        (
            classic,
            "swe-bench",
            "swebench/sweb.eval.x86_64.django_1776_django-11299:latest",
            "/testbed",
        ),
        (
            gym,
            "swe-gym",
            "xingyaoww/sweb.eval.x86_64.getmoto_s_moto-7365:latest",
            "/testbed",
        ),
        (
            live,
            "swe-bench-live",
            "starryzhang/sweb.eval.x86_64.aws_1776_sdk-12:latest",
            "/testbed",
        ),
        (
            multi,
            "multi-swe-bench",
            "mswebench/burntsushi_m_ripgrep:pr-2626",
            "/home/ripgrep",
        ),
        (
            pro,
            "swe-bench-pro",
            "jefzda/sweap-images:a.b-A__b-1",
            "/app",
        ),
        (
            pro_without_tag("instance_Owner__name-12-vnan", "Owner/name"),
            "swe-bench-pro",
            "jefzda/sweap-images:owner.name-Owner__name-12",
            "/app",
        ),
        (
            pro_without_tag(
                "instance_element-hq__element-web-12-vnan",
                "element-hq/element-web",
            ),
            "swe-bench-pro",
            "jefzda/sweap-images:element-hq.element-element-hq__element-web-12",
            "/app",
        ),
        (
            pro_without_tag(&long, "Owner/name"),
            "swe-bench-pro",
            &format!(
                "jefzda/sweap-images:owner.name-Owner__name-{}-v{}",
                "a".repeat(40),
                "b".repeat(63)
            ),
            "/app",
        ),
        (
            rebench,
            "swe-rebench",
            "swerebench/sweb.eval.x86_64.a_1776_b-1",
            "/testbed",
        ),
        (
            smith,
            "swe-smith",
            "jyangballin/swesmith.x86_64.a_1776_b.95280573",
            "/testbed",
        ),
    ] {
        let row = with(&fields);
        assert_eq!(row.family().name, family);
        assert_eq!(named(&row), name);
        assert_eq!(row.family().workdir(&row).as_deref(), Some(workdir));
    }
}

#[test]
fn a_row_of_ones_own_has_no_image_but_the_one_it_names() {
    let fields = json!({"instance_id": "mine-1", "repo": "me/mine"});
    let mut row = with(&fields);
    assert_eq!(image(&Naming::default(), &row), None);
    assert_eq!(row.family().name, "other");
    row.instance.image = Some("mine:1".to_owned());
    assert_eq!(
        image(&Naming::default(), &row),
        Some(Image {
            name: "mine:1".to_owned(),
            origin: Origin::Row("image".to_owned())
        })
    );
    let local =
        json!({"instance_id": "a__b-1", "repo": "a/b", "version": "1", "repo_path": "b.git"});
    assert_eq!(image(&Naming::default(), &with(&local)), None);
    let rebench =
        json!({"instance_id": "a__b-1", "repo": "a/b", "version": "1", "install_config": {}});
    assert_eq!(image(&Naming::default(), &with(&rebench)), None);
}

#[test]
fn a_template_goes_before_everything_and_a_mirror_before_the_rest() {
    let row = with(
        &json!({"instance_id": "A__b-1", "repo": "A/b", "image": "named/image:1", "number": 7}),
    );
    let given = |template: &str| Naming {
        template: Some(template.to_owned()),
        mirror: Some("mirror.test:5000/hub".to_owned()),
        special: Some(|name| name.starts_with('/')),
    };
    let found = image(
        &given("mine/{name}-{instance_id_1776}-{number}:{instance_id}"),
        &row,
    )
    .unwrap();
    assert_eq!(found.name, "mine/b-a_1776_b-1-7:A__b-1");
    assert_eq!(found.origin, Origin::Given);
    let mirrored = Naming {
        template: None,
        ..given("")
    };
    assert_eq!(
        image(&mirrored, &row).unwrap().name,
        "mirror.test:5000/hub/named/image:1"
    );
    let file = image(&given("/Images/{instance_id}.sif"), &row).unwrap();
    assert_eq!(file.name, "/Images/A__b-1.sif");
}

#[test]
fn a_template_that_cannot_be_is_refused_with_a_hint() {
    let row = with(&json!({"instance_id": "A__b-1", "repo": "A/b", "list": []}));
    for (template, message) in [
        (
            "x:{tag}",
            r#"instance "A__b-1" cannot fill {tag} of the image "x:{tag}""#,
        ),
        (
            "x:{list}",
            r#"instance "A__b-1" cannot fill {list} of the image "x:{list}""#,
        ),
        (
            "x:{version}",
            r#"instance "A__b-1" cannot fill {version} of the image "x:{version}""#,
        ),
        (
            "x:{name",
            r#"instance "A__b-1" cannot fill {name} of the image "x:{name""#,
        ),
        (
            "{instance_id}",
            r#"instance "A__b-1": "A__b-1" is no image: its repository holds upper-case letters"#,
        ),
    ] {
        let naming = Naming {
            template: Some(template.to_owned()),
            mirror: None,
            special: None,
        };
        let error = naming.image(&row).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.hints().len(), 1);
    }
}

#[test]
fn published_rows_get_the_names_that_are_published() {
    let Some(directory) = conformance::instances() else {
        return;
    };
    let mut families = std::collections::BTreeMap::<String, usize>::new();
    for path in conformance::files(&directory) {
        let dataset = dataset::load(&path, &LoadOptions::default()).unwrap();
        for row in &dataset.rows {
            let id = row.instance.id.as_str();
            let family = row.family();
            *families.entry(family.name.clone()).or_default() += 1;
            let found = image(&Naming::default(), row).unwrap_or_else(|| panic!("{id}: no image"));
            assert!(found.name.contains('/'), "{id}: {}", found.name);
            assert!(family.workdir(row).is_some(), "{id}");
            // What rows name themselves is what the rule would have made.
            let mut unnamed = row.clone();
            if unnamed
                .instance
                .image
                .take()
                .is_some_and(|_| ["swe-bench", "swe-bench-pro"].contains(&family.name.as_str()))
            {
                assert_eq!(named(&unnamed), found.name);
            }
        }
    }
    let names: Vec<_> = families.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["multi-swe-bench", "swe-bench", "swe-bench-pro", "swe-smith"],
        "{families:?}"
    );
}
