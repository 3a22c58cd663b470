//! Patches as git and other tools write them.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod forms;
#[cfg(test)]
mod git;
#[cfg(test)]
mod path_classes;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reverse;
#[cfg(test)]
mod split;
#[cfg(test)]
mod split_zoo;
