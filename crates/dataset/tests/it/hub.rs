//! The hub: a real client on real sockets, against servers that do what the hub and its storage do, and what they should not.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dataset::hub::{Deadlines, Event, Hub, Id, Retries, Settings};
use dataset::{Error, LoadOptions, Located, Selection, Wanted};
use pretty_assertions::assert_eq;
use tempfile::TempDir;
use testkit::Answer;
use testkit::hub::{FakeHub, HubDataset, HubFile};

use crate::{plain, told};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const NAME: &str = "octo/issues";

fn file(path: &str, ids: &[&str], large: bool) -> HubFile {
    let lines: Vec<String> = ids.iter().map(|id| format!("{}\n", plain(id))).collect();
    HubFile {
        path: path.into(),
        content: lines.concat().into_bytes(),
        large,
    }
}

fn issues() -> HubDataset {
    HubDataset {
        name: NAME.into(),
        commit: COMMIT.into(),
        files: vec![
            file("README.md", &[], false),
            file("data/dev.jsonl", &["d"], false),
            file("data/test-00000-of-00002.jsonl", &["a", "b"], true),
            file("data/test-00001-of-00002.jsonl", &["c"], true),
        ],
        token: None,
        gated: false,
    }
}

/// A hub and somebody who asks it.
struct Scene {
    hub: FakeHub,
    cache: TempDir,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Scene {
    fn new(dataset: HubDataset) -> Self {
        Self {
            hub: FakeHub::start(dataset),
            cache: tempfile::tempdir().unwrap(),
            events: Arc::default(),
        }
    }

    fn settings(&self) -> Settings {
        let cache = self.cache.path().to_str().unwrap().to_owned();
        let endpoint = self.hub.endpoint();
        let settings = Settings::of(|name| match name {
            "HF_ENDPOINT" => Some(endpoint.clone()),
            "HF_HUB_CACHE" => Some(cache.clone()),
            _ => None,
        });
        Settings {
            deadlines: Deadlines {
                head: Duration::from_secs(20),
                idle: Duration::from_secs(20),
                lock: Duration::from_secs(20),
            },
            retries: Retries {
                max_tries: 3,
                base: Duration::from_millis(1),
                cap: Duration::from_millis(5),
                server_cap: Duration::from_secs(2),
            },
            ..settings.unwrap()
        }
    }

    fn locate_with(
        &self,
        settings: Settings,
        id: &str,
        split: Option<&str>,
    ) -> Result<Located, Error> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let events = Arc::clone(&self.events);
        let hub = Hub::new(
            client,
            settings,
            Arc::new(move |event| events.lock().unwrap().push(event)),
        );
        let wanted = Wanted {
            subset: None,
            split: split.map(str::to_owned),
        };
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(hub.locate(&Id::parse(id).unwrap(), &wanted))
    }

    fn locate(&self) -> Result<Located, Error> {
        self.locate_with(self.settings(), NAME, None)
    }

    /// Locates without asking anybody.
    fn offline(&self, split: Option<&str>) -> Result<Located, Error> {
        let settings = Settings {
            offline: true,
            ..self.settings()
        };
        self.locate_with(settings, NAME, split)
    }

    /// The error, without addresses.
    fn said(&self, located: Result<Located, Error>) -> String {
        let (text, hints) = told(&located.unwrap_err());
        assert_eq!(hints.len(), 1, "{text}");
        let text = text.replace(&self.hub.endpoint(), "HUB");
        text.replace(&self.cache.path().display().to_string(), "CACHE")
    }

    fn repository(&self) -> PathBuf {
        self.cache.path().join("datasets--octo--issues")
    }

    fn blob(&self, index: usize) -> PathBuf {
        self.repository()
            .join("blobs")
            .join(issues().files[index].etag())
    }

    fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }
}

fn ids(located: &Located) -> Vec<String> {
    let rows = located.select(&LoadOptions::default(), &Selection::default(), |row| {
        row.instance.id.to_string()
    });
    rows.unwrap()
}

#[test]
fn a_split_is_downloaded_into_the_hubs_own_layout() {
    let scene = Scene::new(issues());
    let located = scene.locate().unwrap();
    assert_eq!(ids(&located), ["a", "b", "c"]);
    assert_eq!(located.revision.as_deref(), Some(COMMIT));
    assert_eq!(located.split.as_deref(), Some("test"));
    let reference = std::fs::read_to_string(scene.repository().join("refs/main")).unwrap();
    assert_eq!(reference, COMMIT);
    let link = scene
        .repository()
        .join("snapshots")
        .join(COMMIT)
        .join("data/test-00000-of-00002.jsonl");
    let target = std::fs::read_link(&link).unwrap();
    assert_eq!(
        target,
        Path::new("../../../blobs").join(issues().files[2].etag())
    );
    assert_eq!(std::fs::read(link).unwrap(), issues().files[2].content);
    // What is there is not asked for again; small files come from the hub itself.
    let before = scene.hub.storage_requests().len();
    scene.locate().unwrap();
    assert_eq!(scene.hub.storage_requests().len(), before);
    let dev = scene
        .locate_with(scene.settings(), &format!("{NAME}@{COMMIT}"), Some("dev"))
        .unwrap();
    assert_eq!(ids(&dev), ["d"]);
}

#[test]
fn the_cache_is_enough_without_the_hub() {
    let scene = Scene::new(issues());
    assert_eq!(
        scene.said(scene.offline(None)),
        "dataset octo/issues is not in the cache CACHE, and the hub is not to be asked"
    );
    scene.locate().unwrap();
    let asked = scene.hub.requests().len();
    assert_eq!(ids(&scene.offline(None).unwrap()), ["a", "b", "c"]);
    assert_eq!(scene.hub.requests().len(), asked);
    assert!(matches!(
        scene.offline(Some("dev")),
        Err(Error::Split { .. })
    ));
    std::fs::remove_file(
        scene
            .repository()
            .join("snapshots")
            .join(COMMIT)
            .join("data/test-00001-of-00002.jsonl"),
    )
    .unwrap();
    assert!(matches!(scene.offline(None), Err(Error::Shards { .. })));
}

#[test]
fn a_hub_that_is_down_is_replaced_by_the_cache_and_said_so() {
    let scene = Scene::new(issues());
    scene.hub.break_hub(|_| Some(Answer::new(503, &[], "down")));
    assert!(
        scene
            .said(scene.locate())
            .ends_with("answers 503 after 3 tries")
    );
    scene.hub.break_hub(|_| None);
    scene.locate().unwrap();
    scene.hub.break_hub(|_| Some(Answer::new(503, &[], "down")));
    assert_eq!(ids(&scene.locate().unwrap()), ["a", "b", "c"]);
    assert!(
        scene
            .events()
            .iter()
            .any(|event| matches!(event, Event::Stale { .. }))
    );
}

#[test]
fn the_token_is_shown_to_the_hub_alone() {
    let scene = Scene::new(HubDataset {
        token: Some("hf_secret".into()),
        ..issues()
    });
    assert_eq!(
        scene.said(scene.locate()),
        "the hub does not let strangers see octo/issues (401): Invalid username or password."
    );
    let with = |token: &str| Settings {
        token: Some(token.to_owned().into()),
        ..scene.settings()
    };
    let wrong = scene.said(scene.locate_with(with("hf_wrong"), NAME, None));
    assert_eq!(
        wrong,
        "the hub does not let this token see octo/issues (401): Invalid username or password."
    );
    scene.locate_with(with("hf_secret"), NAME, None).unwrap();
    let of_storage = scene.hub.storage_requests();
    assert_eq!(of_storage.len(), 2);
    assert!(
        of_storage
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
    let said = format!("{:?}", scene.events());
    assert!(
        !said.contains("hf_") && !said.contains("signature"),
        "{said}"
    );
}

#[test]
fn refusals_are_told_apart() {
    let gated = Scene::new(HubDataset {
        gated: true,
        ..issues()
    });
    let error = gated.locate().unwrap_err();
    assert!(
        error.hints()[0].contains("/datasets/octo/issues, then set HF_TOKEN"),
        "{:?}",
        error.hints()
    );
    assert!(
        gated
            .said(Err(error))
            .starts_with("the hub refuses data/test-00000-of-00002.jsonl of octo/issues@0123")
    );
    let scene = Scene::new(issues());
    let of = |id: &str| scene.said(scene.locate_with(scene.settings(), id, None));
    assert_eq!(
        of("octo/none"),
        "the hub does not let strangers see octo/none (401): Repository not found"
    );
    assert_eq!(
        of("octo/issues@v9"),
        "the hub has no revision: octo/issues@v9 (404)"
    );
    let missing = scene.said(scene.locate_with(scene.settings(), NAME, Some("train")));
    assert_eq!(
        missing,
        "dataset octo/issues holds the splits dev, test, not \"train\""
    );
    scene.hub.break_hub(|request| {
        let gone = request.path.contains("/resolve/");
        gone.then(|| Answer::new(404, &[("x-error-code", "EntryNotFound")], ""))
    });
    assert!(
        scene
            .said(scene.locate())
            .starts_with("the hub has no file: data/test-00000-of-00002.jsonl of")
    );
    scene.hub.break_hub(|_| Some(Answer::new(404, &[], "")));
    assert_eq!(
        scene.said(scene.locate()),
        "the hub has no dataset: octo/issues (404)"
    );
}

#[test]
fn waits_that_the_hub_asks_for_are_kept() {
    let scene = Scene::new(issues());
    let busy = Mutex::new(0);
    scene.hub.break_hub(move |_| {
        let mut busy = busy.lock().unwrap();
        *busy += 1;
        (*busy <= 2).then(|| match *busy {
            1 => Answer::new(429, &[("retry-after", "0.2")], ""),
            _ => Answer::new(429, &[("ratelimit", "\"api\";r=0;t=0.1")], ""),
        })
    });
    scene.locate().unwrap();
    let waits: Vec<u64> = scene
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::Retry { after, .. } => Some(*after),
            _ => None,
        })
        .collect();
    assert_eq!(waits.len(), 2);
    assert!(waits[0] >= 200 && waits[1] >= 100, "{waits:?}");
    let scene = Scene::new(issues());
    scene.hub.break_hub(|_| {
        Some(Answer::new(
            429,
            &[("retry-after", "3600")],
            r#"{"error": "slow down"}"#,
        ))
    });
    assert!(
        scene
            .said(scene.locate())
            .ends_with("answers 429 after 1 tries: slow down")
    );
}

#[test]
fn half_a_file_is_gone_on_with() {
    let scene = Scene::new(issues());
    let whole = issues().files[2].content.clone();
    let length = whole.len().to_string();
    let cut = Mutex::new(false);
    scene.hub.break_storage(move |request| {
        let mut cut = cut.lock().unwrap();
        if *cut || request.header("range").is_some() {
            return None;
        }
        *cut = true;
        let head = Answer::head(200, &[("content-length", &length)]);
        Some(head.send(whole[..40].to_vec()).close())
    });
    assert_eq!(ids(&scene.locate().unwrap()), ["a", "b", "c"]);
    let ranges: Vec<String> = scene
        .hub
        .storage_requests()
        .iter()
        .filter_map(|request| request.header("range").map(str::to_owned))
        .collect();
    assert_eq!(ranges, ["bytes=40-"]);
}

#[test]
fn what_an_earlier_program_left_is_gone_on_with() {
    let scene = Scene::new(issues());
    let (blob, file) = (scene.blob(2), &issues().files[2]);
    std::fs::create_dir_all(blob.parent().unwrap()).unwrap();
    let partial = blob.with_file_name(format!("{}.incomplete", file.etag()));
    std::fs::write(&partial, &file.content[..25]).unwrap();
    scene.locate().unwrap();
    assert_eq!(std::fs::read(&blob).unwrap(), file.content);
    assert!(!partial.exists());
    let started = scene.events().into_iter().find_map(|event| match event {
        Event::Started { from, .. } => Some(from),
        _ => None,
    });
    assert_eq!(started, Some(25));
}

#[test]
fn a_wrong_content_is_got_once_more_and_then_refused() {
    let scene = Scene::new(issues());
    let (blob, file) = (scene.blob(2), &issues().files[2]);
    std::fs::create_dir_all(blob.parent().unwrap()).unwrap();
    // A part that is not the file's: the whole is wrong, and got anew.
    std::fs::write(
        blob.with_file_name(format!("{}.incomplete", file.etag())),
        [b'?'; 25],
    )
    .unwrap();
    scene.locate().unwrap();
    assert_eq!(std::fs::read(&blob).unwrap(), file.content);
    let scene = Scene::new(issues());
    let length = file.content.len();
    scene
        .hub
        .break_storage(move |_| Some(Answer::new(200, &[], vec![b'?'; length])));
    let said = scene.said(scene.locate());
    assert!(
        said.starts_with("data/test-00000-of-00002.jsonl of octo/issues came with "),
        "{said}"
    );
    assert!(
        said.contains(&format!("instead of {}, twice", file.etag())),
        "{said}"
    );
    assert!(!scene.blob(2).exists());
    scene
        .hub
        .break_storage(move |_| Some(Answer::new(200, &[], vec![b'?'; length + 1])));
    assert!(scene.locate().is_err());
}

#[test]
fn answers_that_are_none_are_named() {
    let page = || {
        Answer::new(
            200,
            &[("content-type", "text/html")],
            "<html>Sign in</html>",
        )
    };
    let scene = Scene::new(issues());
    scene.hub.break_hub(move |_| Some(page()));
    assert_eq!(
        scene.said(scene.locate()),
        format!(
            "HUB/api/datasets/{NAME}/revision/main?blobs=true answers with a web page instead of the list of files"
        )
    );
    scene.hub.break_hub(|_| None);
    scene.hub.break_storage(move |_| Some(page()));
    assert!(
        scene
            .said(scene.locate())
            .ends_with("answers with a web page instead of data/test-00000-of-00002.jsonl")
    );
    scene.hub.break_hub(|request| {
        Some(Answer::head(
            302,
            &[("location", &request.path), ("content-length", "0")],
        ))
    });
    assert!(
        scene
            .said(scene.locate())
            .ends_with("redirects more than 8 times")
    );
    scene.hub.break_hub(|_| {
        Some(Answer::head(
            302,
            &[("location", "file:///etc/passwd"), ("content-length", "0")],
        ))
    });
    assert!(
        scene
            .said(scene.locate())
            .ends_with("answers with a redirect that leads nowhere safe")
    );
    scene
        .hub
        .break_hub(|_| Some(Answer::new(200, &[], "{\"sha\": \"../../x\"}")));
    assert!(
        scene
            .said(scene.locate())
            .ends_with("answers without the commit of the revision")
    );
}

#[test]
fn names_that_lead_out_of_the_cache_are_no_files() {
    let mut dataset = issues();
    dataset.files = vec![
        file("../../../evil.jsonl", &["x"], true),
        file("/evil.jsonl", &["y"], true),
        file("test.jsonl", &["a"], true),
    ];
    let scene = Scene::new(dataset);
    assert_eq!(ids(&scene.locate().unwrap()), ["a"]);
}

#[test]
fn a_mirror_that_lists_no_digests_is_asked_for_each_file() {
    let scene = Scene::new(issues());
    scene.hub.break_hub(|request| {
        let names = issues()
            .files
            .into_iter()
            .map(|file| serde_json::json!({"rfilename": file.path}));
        let names: Vec<_> = names.collect();
        request
            .path
            .starts_with("/api/")
            .then(|| Answer::json(&serde_json::json!({"sha": COMMIT, "siblings": names})))
    });
    assert_eq!(ids(&scene.locate().unwrap()), ["a", "b", "c"]);
    assert!(
        scene
            .hub
            .requests()
            .iter()
            .any(|request| request.method == "HEAD")
    );
    assert!(scene.blob(2).exists());
}

#[test]
fn two_that_want_the_same_file_download_it_once() {
    let scene = Scene::new(issues());
    std::thread::scope(|scope| {
        let both = [
            scope.spawn(|| scene.locate()),
            scope.spawn(|| scene.locate()),
        ];
        for one in both {
            assert_eq!(ids(&one.join().unwrap().unwrap()), ["a", "b", "c"]);
        }
    });
    assert_eq!(scene.hub.storage_requests().len(), 2);
}
