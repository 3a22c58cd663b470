//! Calypso, whose tests are run file by file.

use patch::Patch;

use crate::directives::quoted;

/// A command for each file of the test patch, by the template of the project's version: `{package}` is the first directory, `{test}` the file.
/// Snapshots stand for the directory of their tests; end-to-end tests have a runner of their own; other files are not run.
pub(super) fn commands(template: &str, patch: &Patch) -> Vec<String> {
    let mut commands = Vec::new();
    for file in &patch.files {
        let path = file.path().to_str_lossy().into_owned();
        let path = tests_of_snapshot(&path).unwrap_or(&path);
        if path.starts_with("client") || path.starts_with("packages") {
            let package = path.split('/').next().unwrap_or_default();
            // Officially quoted even where a shell needs no quotes.
            let test = format!("'{}'", path.replace('\'', r"'\''"));
            let command = template.replace("{package}", package);
            commands.push(command.replace("{test}", &test));
        } else if path.starts_with("test/e2e") {
            commands.push("cd test/e2e".to_owned());
            commands.push(format!(
                "NODE_CONFIG_ENV=test npm run test {}",
                quoted(path)
            ));
            commands.push("cd ../..".to_owned());
        }
    }
    commands
}

/// `a` for `a/__snapshots__/b.js.snap`.
fn tests_of_snapshot(path: &str) -> Option<&str> {
    let directory = path.strip_suffix(".js.snap")?;
    directory.rfind("__snapshots__/")?;
    let (directory, _) = path.rsplit_once('/')?;
    Some(directory.rsplit_once('/').map_or("", |(above, _)| above))
}
