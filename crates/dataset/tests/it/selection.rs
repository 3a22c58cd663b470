//! Which instances are taken, and in which order.

use dataset::select::{Candidate, Earlier};
use dataset::{Error, LoadOptions, Selection, Slice, load_selected};
use pretty_assertions::assert_eq;
use schema::InstanceId;

use crate::{Fixture, ids, plain, told};

/// Instances with these ids, all of one repository.
fn candidates(ids: &[&str]) -> Vec<Candidate> {
    let candidate = |id: &&str| Candidate {
        id: InstanceId::new(*id),
        repo: "octo/demo".into(),
    };
    ids.iter().map(candidate).collect()
}

fn letters() -> Vec<Candidate> {
    candidates(&["b", "a", "d", "c", "e"])
}

fn chosen(selection: &Selection) -> Vec<String> {
    let ids = letters();
    selection
        .choose(&ids)
        .unwrap()
        .into_iter()
        .map(|index| ids[index].id.to_string())
        .collect()
}

fn error(selection: &Selection) -> Error {
    selection.choose(&letters()).unwrap_err()
}

fn slice(text: &str) -> Slice {
    text.parse().unwrap()
}

#[test]
fn nothing_asked_for_is_everything() {
    assert!(Selection::default().takes_all());
    assert_eq!(chosen(&Selection::default()), ["b", "a", "d", "c", "e"]);
}

#[test]
fn ids_come_in_the_order_of_the_dataset() {
    let file = Fixture::new("ids.txt", "# mine\n\n d \nb\n");
    let selection = Selection {
        ids: vec!["e".into(), "b".into(), "b".into()],
        id_file: Some(file.path().into()),
        ..Selection::default()
    };
    assert_eq!(chosen(&selection), ["b", "d", "e"]);
    let json = Fixture::new("ids.json", "[\"a\", \"c\"]");
    assert_eq!(
        chosen(&Selection {
            id_file: Some(json.path().into()),
            ..Selection::default()
        }),
        ["a", "c"]
    );
}

#[test]
fn the_filter_matches_whole_ids() {
    let ids = candidates(&[
        "django__django-1",
        "django__django-12",
        "xdjango__django-1",
        "django__django-1\nx",
    ]);
    let choose = |pattern: &str| {
        Selection {
            filter: Some(pattern.into()),
            ..Selection::default()
        }
        .choose(&ids)
    };
    assert_eq!(choose("django__django-1").unwrap(), [0]);
    assert_eq!(choose("django.*").unwrap(), [0, 1]);
    assert_eq!(choose(".*-1|nothing").unwrap(), [0, 2]);
    assert_eq!(choose("(?i)DJANGO__DJANGO-12").unwrap(), [1]);
    assert_eq!(choose("(?x) django__django-1 # the first").unwrap(), [0]);
    assert!(matches!(
        choose("django"),
        Err(Error::EmptySelection { before: 4, .. })
    ));
    assert!(matches!(choose("a)(b"), Err(Error::Filter { .. })));
}

#[test]
fn a_shuffle_depends_on_seed_and_ids_only() {
    let shuffled = |seed| {
        chosen(&Selection {
            shuffle: Some(seed),
            ..Selection::default()
        })
    };
    // Pinned: a seed that people wrote down must mean the same instances for ever.
    assert_eq!(shuffled(0), PINNED_0);
    assert_eq!(shuffled(7), PINNED_7);
    let mut sorted = letters();
    sorted.sort_by(|a, b| a.id.cmp(&b.id));
    let selection = Selection {
        shuffle: Some(7),
        ..Selection::default()
    };
    let order: Vec<_> = selection
        .choose(&sorted)
        .unwrap()
        .into_iter()
        .map(|index| sorted[index].id.to_string())
        .collect();
    assert_eq!(order, PINNED_7);
}

const PINNED_0: [&str; 5] = ["d", "e", "a", "c", "b"];
const PINNED_7: [&str; 5] = ["c", "b", "e", "a", "d"];

#[test]
fn steps_run_in_order() {
    let first = chosen(&Selection {
        shuffle: Some(7),
        ..Selection::default()
    });
    assert_eq!(
        chosen(&Selection {
            shuffle: Some(7),
            slice: Some(slice("1:4")),
            ..Selection::default()
        }),
        first[1..4]
    );
    assert_eq!(
        chosen(&Selection {
            slice: Some(slice("::-1")),
            ..Selection::default()
        }),
        ["e", "c", "d", "a", "b"]
    );
    let both = Selection {
        filter: Some("[a-c]".into()),
        slice: Some(slice(":2")),
        ..Selection::default()
    };
    assert_eq!(chosen(&both), ["b", "a"]);
}

#[test]
fn shards_are_disjoint_and_cover_everything() {
    let shard = |text: &str| {
        chosen(&Selection {
            shard: Some(text.parse().unwrap()),
            ..Selection::default()
        })
    };
    assert_eq!(shard("1/2"), ["b", "d", "e"]);
    assert_eq!(shard("2/2"), ["a", "c"]);
    assert_eq!(shard("1/1").len(), 5);
    for text in ["", "1", "0/2", "3/2", "1/0", "a/2", "-1/2", "1/2/3"] {
        assert!(text.parse::<dataset::select::Shard>().is_err(), "{text}");
    }
    assert_eq!(
        "2/2".parse::<dataset::select::Shard>().unwrap().to_string(),
        "2/2"
    );
}

#[test]
fn an_unknown_id_shows_the_nearest_ones() {
    let ids = candidates(&[
        "django__django-11001",
        "django__django-11019",
        "sympy__sympy-1",
    ]);
    let selection = Selection {
        ids: vec![
            "django__django-11O19".into(),
            "11001".into(),
            "zzz".into(),
            "sympy__sympy-1".into(),
        ],
        ..Selection::default()
    };
    let error = selection.choose(&ids).unwrap_err();
    let (text, hints) = told(&error);
    assert_eq!(
        text,
        "the dataset has no instance \"django__django-11O19\", \"11001\", \"zzz\""
    );
    assert_eq!(
        hints,
        [
            "instead of \"django__django-11O19\": django__django-11019, django__django-11001",
            "instead of \"11001\": django__django-11001"
        ]
    );
    let selection = Selection {
        ids: vec!["zzz".into()],
        ..Selection::default()
    };
    assert_eq!(
        selection.choose(&ids).unwrap_err().hints(),
        ["none of its 3 ids looks like it; ids are compared exactly"]
    );
}

#[test]
fn an_empty_selection_names_the_step() {
    let none = Selection {
        filter: Some("x.*".into()),
        slice: Some(slice("0:1")),
        ..Selection::default()
    };
    assert_eq!(
        error(&none).to_string(),
        "no instance is left after filter \"x.*\": 5 before it"
    );
    assert_eq!(
        error(&Selection {
            slice: Some(slice("5:")),
            ..Selection::default()
        })
        .to_string(),
        "no instance is left after slice 5:: 5 before it"
    );
    assert_eq!(
        error(&Selection {
            shard: Some("6/6".parse().unwrap()),
            ..Selection::default()
        })
        .to_string(),
        "no instance is left after shard 6/6: 5 before it"
    );
    let blank = Fixture::new("ids.txt", "# none\n");
    let of_file = Selection {
        id_file: Some(blank.path().into()),
        ..Selection::default()
    };
    assert!(matches!(error(&of_file), Error::EmptySelection { .. }));
    assert!(matches!(
        error(&Selection {
            id_file: Some("no/such".into()),
            ..Selection::default()
        }),
        Error::IdFile { .. }
    ));
}

#[test]
fn selecting_while_reading_gives_the_same_rows() {
    let fixture = Fixture::of_rows(&["b", "a", "d", "c", "e"].map(plain));
    let selection = Selection {
        shuffle: Some(7),
        slice: Some(slice(":3")),
        ..Selection::default()
    };
    let streamed = load_selected(fixture.path(), &LoadOptions::default(), &selection).unwrap();
    assert_eq!(
        streamed.rows,
        selection.apply(fixture.load().unwrap().rows).unwrap()
    );
    assert_eq!(ids(&streamed).len(), 3);
    let all = load_selected(
        fixture.path(),
        &LoadOptions::default(),
        &Selection::default(),
    )
    .unwrap();
    assert_eq!(all.rows.len(), 5);
}

#[test]
fn globs_match_whole_ids() {
    let ids = candidates(&["django__django-1", "django__django-12", "xdjango__django-1"]);
    let choose = |pattern: &str| {
        Selection {
            glob: Some(pattern.into()),
            ..Selection::default()
        }
        .choose(&ids)
    };
    assert_eq!(choose("django__*").unwrap(), [0, 1]);
    assert_eq!(choose("*-?").unwrap(), [0, 2]);
    assert_eq!(choose("{x,}django__django-1").unwrap(), [0, 2]);
    assert!(matches!(
        choose("django"),
        Err(Error::EmptySelection { .. })
    ));
    let (text, hints) = told(&choose("[").unwrap_err());
    assert!(text.starts_with("\"[\" is not a glob pattern: "), "{text}");
    assert_eq!(hints.len(), 1);
}

#[test]
fn repositories_are_taken_by_name() {
    let mut all = letters();
    all[1].repo = "Octo/Other".into();
    let choose = |names: &[&str]| {
        Selection {
            repositories: names.iter().map(|name| (*name).into()).collect(),
            ..Selection::default()
        }
        .choose(&all)
    };
    assert_eq!(choose(&["octo/other"]).unwrap(), [1]);
    assert_eq!(choose(&["octo/other", "OCTO/demo"]).unwrap().len(), 5);
    let (text, hints) = told(&choose(&["octo/othr"]).unwrap_err());
    assert_eq!(text, "the dataset has no instance of \"octo/othr\"");
    assert_eq!(hints, ["instead of \"octo/othr\": Octo/Other"]);
    assert_eq!(
        choose(&["zzz"]).unwrap_err().hints(),
        ["it has instances of octo/demo, Octo/Other"]
    );
}

#[test]
fn what_became_of_instances_earlier_selects_them() {
    let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    let earlier = |ids: &[&str], others_but: Option<&[&str]>| Selection {
        earlier: vec![Earlier {
            asked: "unresolved@runs/x".into(),
            ids: set(ids),
            others_but: others_but.map(set),
        }],
        ..Selection::default()
    };
    assert_eq!(chosen(&earlier(&["a", "e", "unknown"], None)), ["a", "e"]);
    assert_eq!(
        chosen(&earlier(&["a"], Some(&["a", "b", "d"]))),
        ["a", "c", "e"]
    );
    let both = Selection {
        filter: Some("[bcd]".into()),
        ..earlier(&[], Some(&["b"]))
    };
    assert_eq!(chosen(&both), ["d", "c"]);
    assert_eq!(
        error(&earlier(&[], None)).to_string(),
        "no instance is left after status unresolved@runs/x: 5 before it"
    );
}
