//! The clap command, completed by what derive cannot say: defaults from the built-in layer, and `--no-…` for every switch.

use std::collections::BTreeMap;

use clap::builder::{StyledStr, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};

use super::arguments::Cli;
use crate::layers::{Table, default_texts};

/// The whole command line.
pub(super) fn command() -> Command {
    let defaults = default_texts();
    // Users of the official harness know it by this name.
    let command = Cli::command().mut_subcommand("grade", |grade| {
        grade.mut_arg("grade_timeout", |argument| {
            argument.visible_alias("timeout")
        })
    });
    below(command, &defaults)
}

/// The command with each of its commands completed.
fn below(command: Command, defaults: &BTreeMap<String, String>) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |command| {
            below(completed(command, defaults), defaults)
        })
    })
}

/// Adds the defaults to the help, and the negative of each switch.
fn completed(command: Command, defaults: &BTreeMap<String, String>) -> Command {
    let switches: Vec<Arg> = command
        .get_arguments()
        .filter(|argument| is_switch(argument))
        .filter_map(negative)
        .collect();
    let with_defaults = command.mut_args(|argument| {
        // A negative number is a value that its setting refuses, not an unknown flag.
        let takes_value = argument.get_action().takes_values();
        let argument = argument.allow_negative_numbers(takes_value);
        let Some(default) = defaults.get(argument.get_id().as_str()) else {
            return argument;
        };
        let help = argument.get_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        let negative = match argument.get_long() {
            Some(long) if is_switch(&argument) => format!("; `--no-{long}` switches it off"),
            _ => String::new(),
        };
        let text = format!("{help} [default: {default}{negative}]");
        let switch = is_switch(&argument);
        argument
            .help(StyledStr::from(text))
            .hide_possible_values(switch)
    });
    with_defaults.args(switches)
}

/// A setting that is on or off.
fn is_switch(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Set)
        && argument.get_value_parser().type_id() == ValueParser::bool().type_id()
}

fn negative(argument: &Arg) -> Option<Arg> {
    let id = argument.get_id().as_str();
    let long = argument.get_long()?;
    let negative = Arg::new(format!("no_{id}"))
        .long(format!("no-{long}"))
        .action(ArgAction::SetTrue)
        .hide(true)
        .overrides_with(id.to_owned());
    Some(negative)
}

/// The switches that `--no-…` turned off, of the command and of the one below it.
pub(super) fn negated(mut matches: &ArgMatches) -> Table {
    while let Some((_, below)) = matches.subcommand() {
        matches = below;
    }
    let given = |id: &str| matches!(matches.try_get_one::<bool>(id), Ok(Some(true)));
    matches
        .ids()
        .filter(|id| given(id.as_str()))
        .filter_map(|id| id.as_str().strip_prefix("no_"))
        .map(|id| (id.to_owned(), false.into()))
        .collect()
}
