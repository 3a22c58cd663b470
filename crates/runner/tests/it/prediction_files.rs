//! What holds for any file of predictions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;
use runner::predictions::{Duplicates, Error, Given, Submission, matched, read};
use runner::settings::{PartialPatches, PatchKind};
use runner::store::RunDirectory;
use runner::store::derived::{PredictionRules, write_predictions};
use runner::store::ledger::Ledger;
use schema::journal::{AttemptKey, PatchSummary, Seconds};
use schema::{InstanceId, Outcome, RunEvent, Usage};
use serde_json::{Map, Value, json};

fn read_bytes(bytes: &[u8]) -> Result<Submission, Error> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    read(file.path())
}

/// What is wrong with a file, in words and without its path.
fn problem(error: &Error) -> &str {
    match error {
        Error::Malformed { problem, .. } => problem,
        other => panic!("{other}"),
    }
}

/// One item of a file: JSON, and the prediction that it is.
#[derive(Debug, Clone)]
struct Item {
    value: Value,
    /// Instance and patch; `None` where it is no prediction.
    given: Option<(String, Option<String>)>,
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,4}__[a-z]{1,4}-[0-9]{1,3}", "\\PC{1,8}"]
}

fn patch() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        Just(None),
        Just(Some(String::new())),
        any::<String>().prop_map(Some)
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof![
            "instance_id|model_patch|fix_patch|patch|org|repo|number|prefix|model_name_or_path",
            any::<String>(),
        ];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name, inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn sound() -> impl Strategy<Value = Item> {
    let field = prop_oneof![Just("model_patch"), Just("patch"), Just("fix_patch")];
    (id(), field, patch(), json_value()).prop_map(|(id, field, patch, more)| Item {
        value: json!({"instance_id": &id, field: &patch, "cost": more}),
        given: Some((id, patch)),
    })
}

fn broken() -> impl Strategy<Value = Item> {
    let not_text = prop_oneof![
        Just(json!(3)),
        Just(json!(["p"])),
        Just(json!({})),
        Just(json!(true))
    ];
    let value = (id(), not_text, 0..5).prop_map(|(id, wrong, kind)| match kind {
        0 => json!({"model_patch": "p"}),
        1 => json!({"instance_id": id}),
        2 => json!({"instance_id": wrong, "model_patch": "p"}),
        3 => json!({"instance_id": id, "model_patch": wrong}),
        _ => json!({"instance_id": id, "model_patch": "p", "base_commit": "0"}),
    });
    value.prop_map(|value| Item { value, given: None })
}

fn lines(items: &[Item]) -> String {
    let lines = items.iter().map(|item| item.value.to_string());
    lines.collect::<Vec<_>>().join("\n")
}

fn list(items: &[Item]) -> String {
    format!("[{}]", lines(items).replace('\n', ","))
}

/// The same by id; an item without one stands under a name of its own.
fn by_id(items: &[Item]) -> String {
    let members = items.iter().enumerate().map(|(at, item)| {
        let id = item.value.get("instance_id").and_then(Value::as_str);
        let key = id.map_or_else(|| format!("item {at}"), str::to_owned);
        format!("{}:{}", json!(key), item.value)
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn as_given(submission: &Submission) -> Vec<(String, Option<String>)> {
    let given = submission.predictions.iter();
    given
        .map(|one| (one.id.to_string(), one.patch.clone()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_are_predictions_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        match read_bytes(&bytes) {
            Ok(submission) => prop_assert!(!submission.predictions.is_empty()),
            Err(error) => prop_assert!(!problem(&error).is_empty() && !error.hint().is_empty()),
        }
    }

    #[test]
    fn a_sound_file_that_is_cut_or_changed_is_predictions_or_an_error(
        items in vec(sound(), 1..4),
        at in any::<prop::sample::Index>(),
        bytes in vec(any::<u8>(), 0..4),
        cut in any::<bool>(),
    ) {
        for text in [lines(&items), list(&items), by_id(&items)] {
            let mut text = text.into_bytes();
            let at = at.index(text.len());
            let end = if cut { text.len() } else { (at + bytes.len()).min(text.len()) };
            text.splice(at..end, bytes.iter().copied());
            if let Err(error) = read_bytes(&text) {
                prop_assert!(!problem(&error).is_empty());
            }
        }
    }

    #[test]
    fn sound_items_are_read_in_every_shape(items in vec(sound(), 1..6)) {
        let given: Vec<_> = items.iter().filter_map(|item| item.given.clone()).collect();
        for text in [lines(&items), list(&items), by_id(&items)] {
            let submission = read_bytes(text.as_bytes());
            prop_assert_eq!(as_given(&submission.unwrap()), given.clone(), "{}", text);
        }
    }

    #[test]
    fn the_first_broken_item_is_named(
        before in vec(sound(), 1..4),
        broken in broken(),
        after in vec(prop_oneof![sound(), broken()], 0..3),
    ) {
        let place = before.len() + 1;
        let items: Vec<Item> = before.into_iter().chain([broken]).chain(after).collect();
        let error = read_bytes(lines(&items).as_bytes()).unwrap_err();
        prop_assert!(problem(&error).starts_with(&format!("line {place}: ")), "{}", error);
        let error = read_bytes(list(&items).as_bytes()).unwrap_err();
        prop_assert!(problem(&error).starts_with(&format!("prediction {place}: ")), "{}", error);
    }

    #[test]
    fn any_json_is_as_many_predictions_as_it_has_items_or_an_error(items in vec(json_value(), 1..4)) {
        let text = Value::from(items.clone()).to_string();
        match read_bytes(text.as_bytes()) {
            Ok(submission) => prop_assert_eq!(submission.predictions.len(), items.len()),
            Err(error) => prop_assert!(problem(&error).starts_with("prediction "), "{}", error),
        }
        let members: Map<String, Value> =
            items.into_iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect();
        let count = members.len();
        match read_bytes(Value::from(members).to_string().as_bytes()) {
            Ok(submission) => prop_assert_eq!(submission.predictions.len(), count),
            Err(error) => prop_assert!(!problem(&error).is_empty()),
        }
    }

    #[test]
    fn each_instance_gets_one_of_its_predictions(
        all in vec((0..4_u8, prop_oneof![patch(), Just(Some("x".to_owned()))]), 1..8),
    ) {
        let given: Vec<Given> = all.iter().enumerate().map(|(at, (id, patch))| Given {
            id: InstanceId::new(id.to_string()),
            model: None,
            patch: patch.clone(),
            place: format!("line {at}"),
        }).collect();
        let known: Vec<InstanceId> = (0..4).map(|id| InstanceId::new(id.to_string())).collect();
        let mut by_id: BTreeMap<InstanceId, Vec<Option<String>>> = BTreeMap::new();
        for one in &given {
            by_id.entry(one.id.clone()).or_default().push(one.patch.clone());
        }
        let differ = by_id.values().any(|patches| patches.iter().any(|one| *one != patches[0]));
        for rule in [Duplicates::Refuse, Duplicates::First, Duplicates::Last] {
            let taken = matched(&given, &known, "m", rule);
            if differ && rule == Duplicates::Refuse {
                let told = taken.unwrap_err().to_string();
                prop_assert!(told.contains("line "), "{}", told);
                continue;
            }
            let (taken, findings) = taken.unwrap();
            let ids: BTreeSet<_> = taken.iter().map(|one| &one.instance_id).collect();
            prop_assert_eq!(ids.len(), taken.len());
            prop_assert!(ids.iter().eq(&by_id.keys().collect::<Vec<_>>()));
            for ids in findings.values() {
                prop_assert!(ids.iter().all(|id| known.contains(id)));
            }
            for one in &taken {
                let patches = &by_id[&one.instance_id];
                let chosen = if rule == Duplicates::Last { patches.last() } else { patches.first() };
                let (expected, _) = runner::predictions::repaired(chosen.unwrap().as_deref());
                prop_assert_eq!(&*one.model_patch, &*expected);
            }
        }
    }
}

fn ended(id: &str) -> RunEvent {
    RunEvent::AttemptFinished {
        key: key(id),
        outcome: Outcome::Completed,
        steps: 1,
        usage: Usage::default(),
        seconds: Seconds::default(),
        patch: PatchSummary::default(),
        network: None,
    }
}

fn key(id: &str) -> AttemptKey {
    AttemptKey {
        instance_id: InstanceId::new(id),
        sample: 1,
        attempt: 1,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_we_write_is_read_again_as_it_was(
        patches in prop::collection::btree_map(id(), any::<String>(), 1..4),
        model in "[ -~]{1,12}",
    ) {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::new(root.path());
        run.lay_out().unwrap();
        for (id, patch) in &patches {
            let attempt = run.attempt(&key(id));
            fs::create_dir_all(attempt.root()).unwrap();
            fs::write(attempt.model_patch(), patch).unwrap();
        }
        let events: Vec<RunEvent> = patches.keys().map(|id| ended(id)).collect();
        let rules = PredictionRules {
            model: model.clone(),
            patch: PatchKind::Model,
            partial: PartialPatches::Exclude,
            samples: 1,
        };
        write_predictions(&run, &Ledger::fold(&events), &rules).unwrap();
        let written: Vec<_> = patches.into_iter().map(|(id, patch)| (id, Some(patch))).collect();
        for file in [run.predictions(1), run.preds()] {
            let submission = read(&file).unwrap();
            prop_assert_eq!(as_given(&submission), written.clone());
            let models = submission.predictions.iter().map(|one| one.model.as_deref());
            prop_assert!(models.into_iter().all(|one| one == Some(&*model)));
        }
    }
}
