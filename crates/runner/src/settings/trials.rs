//! What a validation tries of each instance, told by the numbers of samples.

use serde::{Deserialize, Serialize};

use super::ProfileChoice;

/// What a validation tries of each instance: the known patch and the empty one, under every profile, so many times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trials {
    /// The profiles, none of them twice.
    pub profiles: Vec<ProfileChoice>,
    /// Repetitions.
    pub times: u32,
}

/// A patch whose effect is known beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialPatch {
    /// The dataset's own, which has to resolve the issue.
    Known,
    /// None at all: the tests are run on the unchanged tree, which must not.
    Empty,
}

impl TrialPatch {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Known, Self::Empty];

    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Known => "known patch",
            Self::Empty => "unchanged tree",
        }
    }
}

/// One sample of a validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// Which patch it grades.
    pub patch: TrialPatch,
    /// Under which profile.
    pub profile: ProfileChoice,
    /// Which time, from 1.
    pub repetition: u32,
}

impl Trials {
    /// Samples of each instance.
    pub fn samples(&self) -> u32 {
        self.each().saturating_mul(self.times)
    }

    /// What sample `number`, from 1, tries; `None` where there is no such sample. More repetitions add samples and change none.
    pub fn of(&self, number: u32) -> Option<Trial> {
        let index = number.checked_sub(1).filter(|_| number <= self.samples())?;
        let (repetition, place) = (index / self.each(), index % self.each());
        let patches = u32::try_from(TrialPatch::ALL.len()).ok()?;
        let profile = usize::try_from(place / patches).ok()?;
        let patch = usize::try_from(place % patches).ok()?;
        Some(Trial {
            patch: *TrialPatch::ALL.get(patch)?,
            profile: *self.profiles.get(profile)?,
            repetition: repetition + 1,
        })
    }

    /// All samples with what they try.
    pub fn all(&self) -> impl Iterator<Item = (u32, Trial)> {
        (1..=self.samples()).filter_map(|number| Some((number, self.of(number)?)))
    }

    /// Samples of one repetition.
    fn each(&self) -> u32 {
        let count = self.profiles.len() * TrialPatch::ALL.len();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_another_trial_and_more_repetitions_change_none() {
        let mut trials = Trials {
            profiles: vec![ProfileChoice::Official, ProfileChoice::Sealed],
            times: 2,
        };
        let few: Vec<_> = trials.all().collect();
        assert_eq!((few.len(), trials.samples()), (8, 8));
        for (place, (_, trial)) in few.iter().enumerate() {
            assert!(few[..place].iter().all(|(_, other)| other != trial));
        }
        assert_eq!((trials.of(0), trials.of(9)), (None, None));
        trials.times = 3;
        let more: Vec<_> = trials.all().take(8).collect();
        assert_eq!(more, few);
    }
}
