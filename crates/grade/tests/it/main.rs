//! Everything that grading is made of, from script to report.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod criteria;
#[cfg(test)]
mod differential;
#[cfg(test)]
mod flow;
#[cfg(test)]
mod judging;
#[cfg(test)]
mod linear;
mod lines;
#[cfg(test)]
mod official_maps;
#[cfg(test)]
mod official_verdicts;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod published;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod smith_maps;
#[cfg(test)]
mod specs;
#[cfg(test)]
mod summaries;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod tampering;
