//! Which script runs the tests.

use schema::grading::Origin;

use super::{Case, SpecError, assets, calypso, parser, paths_of, program, row};
use crate::directives::{quoted, with_tests};
use crate::eval_script::{Recipe, Tests, here_document};
use crate::log::START;
use crate::rules::{Found, TestNames};

/// A script and where it is from.
pub(super) struct Script {
    pub(super) text: String,
    /// The test patch, where the script does not apply it.
    pub(super) test_patch: Option<String>,
    pub(super) origin: Origin,
}

/// The script of a row: its own, else one made of the first commands that it or the rules have.
pub(super) fn script(case: &Case<'_>) -> Result<Script, SpecError> {
    let own = case.answer.eval_script.as_ref();
    if let Some(text) = own.filter(|text| !text.trim().is_empty()) {
        let patch = case.answer.test_patch.clone();
        return Ok(Script {
            text: text.clone(),
            test_patch: patch.filter(|patch| !patch.trim().is_empty() && !applies_tests(text)),
            origin: Origin::Row("eval_script".to_owned()),
        });
    }
    let patch_text = case.answer.test_patch.as_deref().unwrap_or_default();
    let patch = patch::parse(patch_text.as_bytes())?;
    let (recipe, origin) = recipe(case, &patch)?;
    let paths = paths_of(&patch);
    let tests = Tests {
        patch: patch_text,
        paths: &paths,
        base_commit: case.instance.base_commit.as_deref(),
    };
    Ok(Script {
        text: recipe.script(Some(tests)),
        test_patch: None,
        origin,
    })
}

/// Scripts of the official harness carry the test patch in themselves.
fn applies_tests(script: &str) -> bool {
    script.contains("git apply") || script.contains(START)
}

fn recipe(case: &Case<'_>, patch: &patch::Patch) -> Result<(Recipe, Origin), SpecError> {
    let from_row = [
        of_install_config,
        of_test_commands,
        of_run_script,
        of_test_command,
    ];
    for read in from_row {
        if let Some((recipe, field)) = read(case, patch)? {
            return Ok((recipe, Origin::Row(field.to_owned())));
        }
    }
    let found = case.found.as_ref().map_err(|unruled| {
        if row::is_of_pro(case.instance, case.answer) {
            return SpecError::Missing {
                field: "run_script",
            };
        }
        unruled.clone()
    })?;
    Ok((of_rules(case, found, patch)?, found.origin.clone()))
}

type FromRow = Option<(Recipe, &'static str)>;

/// SWE-rebench and SWE-bench-extra: how the project is installed and tested, in one object.
fn of_install_config(case: &Case<'_>, patch: &patch::Patch) -> Result<FromRow, SpecError> {
    const FIELD: &str = "install_config";
    let Some(config) = row::object(case.answer, FIELD)? else {
        return Ok(None);
    };
    let commands = |name: &str| row::commands(config, name, FIELD);
    let mut test = commands("test_cmd")?;
    // A list is complete; one command is told which tests.
    if let ([one], Some(true)) = (
        &mut test[..],
        config.get("test_cmd").map(serde_json::Value::is_string),
    ) {
        *one = with_tests(one, TestNames::Files, patch, case.answer);
    }
    let mut setup = vec!["export LANG=C.UTF-8 LC_ALL=C.UTF-8".to_owned()];
    setup.extend(row::variables(config, "env_vars", FIELD)?);
    setup.extend(commands("eval_commands")?);
    let recipe = Recipe {
        strict: true,
        setup,
        install: commands("install")?,
        build: commands("build")?,
        test,
    };
    Ok((!recipe.test.is_empty()).then_some((recipe, FIELD)))
}

/// SWE-bench-Live: lists of complete commands, and perhaps a program that reads what they print.
fn of_test_commands(case: &Case<'_>, _: &patch::Patch) -> Result<FromRow, SpecError> {
    let commands = |field| row::commands(&case.answer.extra, field, field);
    let (test, print) = (commands("test_cmds")?, commands("print_cmds")?);
    if test.is_empty() {
        return Ok(None);
    }
    let mut recipe = Recipe {
        build: commands("rebuild_cmds")?,
        ..Recipe::default()
    };
    if case.instance.image.as_deref().is_some_and(is_for_windows) {
        return Err(SpecError::Windows);
    }
    if let Some(program) = parser::program_of(case)? {
        let commands = program::commands(program, &test, &print);
        recipe.build.extend(commands.build);
        recipe.test = commands.print;
    } else if print.is_empty() {
        recipe.test = test;
    } else {
        // What the tests print goes elsewhere, and is printed after them.
        recipe.build.extend(test);
        recipe.test = print;
    }
    Ok(Some((recipe, "test_cmds")))
}

/// Whether an image is one of SWE-bench-Live's for Windows.
fn is_for_windows(image: &str) -> bool {
    image.contains("sweb.eval.win.")
}

/// SWE-bench Pro: one script runs the tests, another makes JSON of what they print.
fn of_run_script(case: &Case<'_>, _: &patch::Patch) -> Result<FromRow, SpecError> {
    const FIELD: &str = "run_script";
    let Some(run) = row::text(case.answer, FIELD)? else {
        return Ok(None);
    };
    let parse = row::text(case.answer, "parser_script")?.ok_or(SpecError::Missing {
        field: "parser_script",
    })?;
    let selected = row::commands(
        &case.answer.extra,
        "selected_test_files_to_run",
        "selected_test_files_to_run",
    )?;
    let recipe = Recipe {
        build: vec![
            "patchmill_work=$(mktemp -d)".to_owned(),
            here_document("cat > \"$patchmill_work/run_script.sh\"", run),
            format!(
                "bash \"$patchmill_work/run_script.sh\" {} > \"$patchmill_work/stdout.log\" 2> \"$patchmill_work/stderr.log\"",
                quoted(&selected.join(","))
            ),
            // Written after the tests ran: they cannot change it.
            here_document("cat > \"$patchmill_work/parser.py\"", parse),
            "$(command -v python || command -v python3) \"$patchmill_work/parser.py\" \"$patchmill_work/stdout.log\" \
             \"$patchmill_work/stderr.log\" \"$patchmill_work/output.json\""
                .to_owned(),
        ],
        test: vec!["cat \"$patchmill_work/output.json\"".to_owned()],
        ..Recipe::default()
    };
    Ok(Some((recipe, FIELD)))
}

/// A row with a command of its own, and perhaps one that installs.
fn of_test_command(case: &Case<'_>, _: &patch::Patch) -> Result<FromRow, SpecError> {
    const FIELD: &str = "test_cmd";
    let commands = |field| row::commands(&case.answer.extra, field, field);
    let recipe = Recipe {
        install: commands("install")?,
        test: commands(FIELD)?,
        ..Recipe::default()
    };
    Ok((!recipe.test.is_empty()).then_some((recipe, FIELD)))
}

fn of_rules(case: &Case<'_>, found: &Found, patch: &patch::Patch) -> Result<Recipe, SpecError> {
    let settings = &found.settings;
    let mut test = settings.test_command.clone().unwrap_or_default();
    let Some(last) = test.last_mut() else {
        return Err(SpecError::Unsaid {
            file: found.file.clone(),
            key: "test_command",
        });
    };
    let names = settings.tests.unwrap_or_default();
    if names == TestNames::Calypso {
        test = calypso::commands(last, patch);
    } else {
        *last = with_tests(last, names, patch, case.answer);
    }
    let lines = |lines: &Option<Vec<String>>| lines.clone().unwrap_or_default();
    let assets = assets::assets(case.answer)?;
    let mut build: Vec<String> = assets.iter().map(assets::Asset::command).collect();
    build.extend(lines(&settings.build));
    Ok(Recipe {
        strict: row::shape(case.instance, case.answer).is_none(),
        setup: lines(&settings.setup),
        install: lines(&settings.install),
        build,
        test,
    })
}
