//! Everything that grading is made of, from script to report.

mod flow;
