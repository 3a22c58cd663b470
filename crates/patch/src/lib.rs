//! Git diffs: parsing, path classes, filtering. Pure.
