//! The runner as people use it: its binary, its files, its words.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod apptainer;
mod bad_input;
mod batch;
mod buckets;
mod clean;
mod cli;
mod command;
mod confined;
mod contained;
mod deaths;
mod doctor;
mod engine_disk;
mod engine_hosts;
mod engine_images;
mod engines;
mod errors;
mod export;
mod faults;
mod fixture;
mod foreign_logs;
mod grading;
mod grading_deaths;
mod hub;
mod images;
mod large;
mod limits;
mod machine;
mod offline;
mod one_off;
mod panics;
mod placed;
mod podman;
mod predictions;
mod profiles;
mod regrading;
mod replay;
mod resume;
mod ruins;
mod searches;
mod secrets;
mod servers;
mod shell;
mod started;
mod validate;
