//! Datasets of issues: readers, variants, selection.
