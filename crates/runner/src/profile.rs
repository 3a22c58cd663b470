//! Under which conditions a patch is graded, and what of them a sandbox has.

use std::path::Path;

use dataset::Row;
use dataset::hub::Id;
use dataset::images::{self, Image};
use sandbox::limits::{Applied, Limit, Limits, Network};
use sandbox::place::Hardening;
use schema::grading::{GradingSpec, Origin, Profile};

use crate::settings::{Processors, ProfileChoice};

/// The profile of an instance's gradings, and why it is that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The profile.
    pub profile: Profile,
    /// Where the choice comes from.
    pub origin: Origin,
}

/// Chooses the profile of a row of `dataset`: the one asked for; else `official` for the datasets that the field has short names for and for images that a
/// dataset's publishers made, `sealed` for all others.
pub fn choose(
    asked: ProfileChoice,
    dataset: Option<&Path>,
    row: &Row,
    image: Option<&Image>,
) -> Chosen {
    let of = |profile, origin| Chosen { profile, origin };
    match asked {
        ProfileChoice::Official => return of(Profile::Official, Origin::Given),
        ProfileChoice::Sealed => return of(Profile::Sealed, Origin::Given),
        ProfileChoice::Auto => {}
    }
    if let Some(name) = dataset.and_then(of_the_field) {
        return of(Profile::Official, Origin::Family(name));
    }
    match image.filter(|image| images::is_official(row, image)) {
        Some(image) => of(Profile::Official, image.origin.clone()),
        None => of(Profile::Sealed, Origin::Default),
    }
}

/// The name of a dataset of the hub that has a short name.
fn of_the_field(dataset: &Path) -> Option<String> {
    let id = Id::of_path(dataset)?;
    id.has_alias().then_some(id.name)
}

/// What a grading's sandbox has to be.
#[derive(Debug, Clone, Copy)]
pub struct Conditions<'a> {
    /// The profile.
    pub profile: Profile,
    /// What the instance's grading needs.
    pub spec: &'a GradingSpec,
}

impl Conditions<'_> {
    /// Limits of the sandbox, where those for solving are known: processors are those that the user gives to gradings, else those of the rules.
    pub fn limits(&self, solving: &Limits, given: Option<Processors>) -> Limits {
        let ruled = self.spec.cpus.map(|number| Limit {
            value: f64::from(number),
            explicit: false,
        });
        let cpus = match given {
            Some(given) => given.into(),
            None => ruled.or(solving.cpus),
        };
        Limits {
            cpus,
            ..solving.clone()
        }
    }

    /// Capabilities that the harness adds, as far as the profile has them.
    pub fn capabilities(&self) -> &[String] {
        match self.profile {
            Profile::Official => &self.spec.capabilities,
            Profile::Sealed => &[],
        }
    }
}

/// Network of a grading's sandbox.
pub fn network(profile: Profile) -> Network {
    match profile {
        Profile::Official => Network::Full,
        Profile::Sealed => Network::None,
    }
}

/// How far a grading's sandbox is confined.
pub fn hardening(profile: Profile) -> Hardening {
    match profile {
        Profile::Official => Hardening::EngineDefault,
        Profile::Sealed => Hardening::Full,
    }
}

/// Variables that a sealed script starts with; colours and progress go by the terminal. `NO_COLOR` and `CI` are left alone: projects test what
/// their programs make of them.
const FIXED: [(&str, &str); 4] = [
    ("TZ", "UTC"),
    // An image may know no other language than its own.
    ("LANG", "\"${LANG:-C.UTF-8}\""),
    ("PYTHONHASHSEED", "0"),
    ("TERM", "dumb"),
];

/// Shell text that comes before an evaluation script, without the variables that the user `given` a value to.
pub fn preamble(profile: Profile, given: &[(String, String)]) -> String {
    let free = |name: &str| !given.iter().any(|(known, _)| known == name);
    match profile {
        Profile::Official => String::new(),
        Profile::Sealed => {
            let fixed = FIXED.iter().filter(|(name, _)| free(name));
            fixed
                .flat_map(|(name, value)| ["export ", name, "=", value, "\n"])
                .collect()
        }
    }
}

/// What of the profile's conditions a sandbox does not have.
pub fn unmet(profile: Profile, applied: &Applied) -> Vec<String> {
    let enforced = |name: &str| applied.enforced.iter().any(|known| known == name);
    let conditions = match profile {
        Profile::Official => [
            ("network", applied.network == Network::Full),
            ("image", applied.image.is_some()),
        ],
        Profile::Sealed => [
            ("network", applied.network == Network::None),
            ("filesystem", enforced("filesystem")),
        ],
    };
    let unmet = conditions.into_iter().filter(|(_, met)| !met);
    unmet.map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datasets_are_known_by_short_and_by_whole_names() {
        let name = |text: &str| of_the_field(Path::new(text));
        let lite = Some("SWE-bench/SWE-bench_Lite".to_owned());
        assert_eq!(name("lite"), lite);
        assert_eq!(name("SWE-bench/SWE-bench_Lite@0123abc"), lite);
        assert_eq!(name("somebody/else"), None);
        assert_eq!(name("rows.jsonl"), None);
    }

    #[test]
    fn the_fixed_environment_leaves_what_the_user_says() {
        let given = [("TZ".to_owned(), "Asia/Tokyo".to_owned())];
        let text = preamble(Profile::Sealed, &given);
        assert!(
            !text.contains("TZ=") && text.contains("export PYTHONHASHSEED=0\n"),
            "{text}"
        );
        assert_eq!(preamble(Profile::Official, &[]), "");
    }

    #[test]
    fn what_a_sandbox_lacks_is_named() {
        let applied = Applied {
            network: Network::Full,
            probe: sandbox::network::NetworkProbe::default(),
            enforced: Vec::new(),
            unenforced: Vec::new(),
            user: "0".to_owned(),
            capabilities: Vec::new(),
            tmpfs: None,
            image: None,
        };
        assert_eq!(unmet(Profile::Sealed, &applied), ["network", "filesystem"]);
        assert_eq!(unmet(Profile::Official, &applied), ["image"]);
    }
}
