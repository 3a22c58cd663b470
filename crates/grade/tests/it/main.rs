//! Everything that grading is made of, from script to report.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod flow;
