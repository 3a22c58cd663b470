//! Grading: evaluation scripts, log parsers, verdicts. Pure.
