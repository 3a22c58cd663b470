//! The report of `runner doctor` as text.

use super::{Check, Status};
use crate::ui::{Printer, Style, escape};

/// One line for each check, and one for each thing to mend.
pub fn render(checks: &[Check], printer: &Printer) -> String {
    let width = checks.iter().map(|check| check.name.len()).max();
    let width = width.unwrap_or_default();
    let mut lines = Vec::new();
    for check in checks {
        let (style, word) = match check.status {
            Status::Ok => (Style::Good, "ok     "),
            Status::Warn => (Style::Warning, "warn   "),
            Status::Missing => (Style::Bad, "missing"),
        };
        let word = printer.paint_out(style, word);
        let found = escape::line(&check.found);
        lines.push(format!("{word}  {:<width$}  {found}", check.name));
        if let Some(mend) = &check.mend {
            let mend = printer.paint_out(Style::Hint, &escape::line(mend));
            lines.push(format!("         {:<width$}  {mend}", ""));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::Global;

    #[test]
    fn each_check_is_a_line_and_its_mending_another() {
        let checks = [
            Check::ok("git", "git version 2.47.3"),
            Check::warn(
                "bubblewrap",
                "no\x07 permission",
                "install the package `bubblewrap`",
            ),
            Check::missing("runs", "not writable", "choose another with --out"),
        ];
        insta::assert_snapshot!(render(&checks, &Printer::new(&Global::default())), @r"
        ok       git         git version 2.47.3
        warn     bubblewrap  no\x07 permission
                             install the package `bubblewrap`
        missing  runs        not writable
                             choose another with --out
        ");
    }
}
