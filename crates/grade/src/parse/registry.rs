//! Parsers by name.

use crate::near::parsers_like;

use super::context::Context;
use super::elsewhere::{multi_swe, swe_smith};
use super::result::Parsed;
use super::{c, elsewhere, go, java, javascript, php, python, ruby, rust, tap};

/// Reads the text of a log. Takes time linear in its length.
pub type Parser = for<'a> fn(&'a str, &Context<'_>) -> Parsed<'a>;

/// The names of the official harness, without their `parse_log_`, and what they stand for: many are one parser.
const OFFICIAL: &[(&str, Parser)] = &[
    ("pytest", python::pytest::parse),
    ("astroid", python::pytest::parse),
    ("flask", python::pytest::parse),
    ("marshmallow", python::pytest::parse),
    ("pvlib", python::pytest::parse),
    ("pyvista", python::pytest::parse),
    ("sqlfluff", python::pytest::parse),
    ("xarray", python::pytest::parse),
    ("pytest_options", python::pytest::parse_options),
    ("pydicom", python::pytest::parse_options),
    ("pylint", python::pytest::parse_options),
    ("requests", python::pytest::parse_options),
    ("matplotlib", python::pytest::parse_matplotlib),
    ("pytest_v2", python::pytest_v2::parse),
    ("astropy", python::pytest_v2::parse),
    ("scikit", python::pytest_v2::parse),
    ("sphinx", python::pytest_v2::parse),
    ("seaborn", python::seaborn::parse),
    ("django", python::django::parse),
    ("sympy", python::sympy::parse),
    ("calypso", javascript::calypso::parse),
    ("chart_js", javascript::chart_js::parse),
    ("marked", javascript::marked::parse),
    ("p5js", javascript::p5js::parse),
    ("react_pdf", javascript::jest_files::parse),
    ("carbon", javascript::jest_files::parse),
    ("grommet", javascript::grommet::parse),
    ("jest", javascript::jest::parse),
    ("jest_json", javascript::jest::parse_json),
    ("vitest", javascript::vitest::parse),
    ("karma", javascript::karma::parse),
    ("tap", tap::parse),
    ("immutable_js", javascript::immutable::parse),
    ("bpmn_js", javascript::bpmn_js::parse),
    ("eslint", javascript::eslint::parse),
    ("highlightjs", javascript::highlight::parse),
    ("lighthouse", javascript::lighthouse::parse),
    ("next", javascript::next::parse),
    ("openlayers", javascript::openlayers::parse),
    ("prismjs", javascript::prism::parse),
    ("quarto_cli", javascript::quarto::parse),
    ("redis", c::redis::parse),
    ("jq", c::jq::parse),
    ("doctest", c::doctest::parse),
    ("micropython_test", c::micropython::parse),
    ("googletest", c::googletest::parse),
    ("gotest", go::parse),
    ("maven", java::maven::parse),
    ("ant", java::ant::parse),
    ("gradle_custom", java::gradle::parse),
    ("phpunit", php::parse),
    ("minitest", ruby::minitest::parse),
    ("cucumber", ruby::cucumber::parse),
    ("ruby_unit", ruby::test_unit::parse),
    ("rspec_transformed_json", ruby::rspec::parse),
    ("jekyll", ruby::jekyll::parse),
    ("cargo", rust::parse),
];

/// Parsers of other datasets, by names of ours: those datasets have no names for them.
const ELSEWHERE: &[(&str, Parser)] = &[
    ("swe_smith", swe_smith::parse),
    ("swe_smith_autograd", swe_smith::parse_autograd),
    ("swe_smith_mypy", swe_smith::parse_mypy),
    ("swe_smith_paramiko", swe_smith::parse_paramiko),
    ("swe_smith_slugify", swe_smith::parse_slugify),
    ("swe_smith_tornado", swe_smith::parse_tornado),
    ("swe_smith_airsim", swe_smith::cpp::parse_airsim),
    ("swe_smith_boost", swe_smith::catch2::parse_boost),
    ("swe_smith_cargo", swe_smith::lists::parse_cargo),
    ("swe_smith_catch2", swe_smith::catch2::parse),
    ("swe_smith_cppunit", swe_smith::counted::parse_cppunit),
    ("swe_smith_ctest", swe_smith::cpp::parse_ctest),
    ("swe_smith_dotnet", swe_smith::lists::parse_dotnet),
    ("swe_smith_googletest", swe_smith::cpp::parse_gtest),
    ("swe_smith_gotest", swe_smith::lists::parse_go),
    ("swe_smith_jasmine", swe_smith::counted::parse_jasmine),
    ("swe_smith_jest", swe_smith::javascript::parse_jest),
    ("swe_smith_junit", swe_smith::java::parse_junit),
    ("swe_smith_karma", swe_smith::counted::parse_karma),
    ("swe_smith_mocha", swe_smith::javascript::parse_mocha),
    ("swe_smith_mocha_totals", swe_smith::counted::parse_mocha),
    ("swe_smith_node", swe_smith::javascript::parse_node),
    ("swe_smith_phpunit", swe_smith::lists::parse_phpunit),
    (
        "swe_smith_react_pdf",
        swe_smith::javascript::parse_react_pdf,
    ),
    ("swe_smith_surefire", swe_smith::java::parse_surefire),
    ("swe_smith_turbo", swe_smith::counted::parse_turbo),
    ("swe_smith_vitest", swe_smith::javascript::parse_vitest),
    ("multi_swe_automake", multi_swe::lists::parse_automake),
    ("multi_swe_cargo", multi_swe::lists::parse_cargo),
    ("multi_swe_catch2", multi_swe::lists::parse_catch2),
    ("multi_swe_ctest", multi_swe::lists::parse_ctest),
    ("multi_swe_darkreader", multi_swe::jest::parse_darkreader),
    ("multi_swe_express", multi_swe::mocha_json::parse_express),
    ("multi_swe_googletest", multi_swe::lists::parse_gtest),
    ("multi_swe_gotest", multi_swe::gradle::parse_go),
    ("multi_swe_gotest_bases", multi_swe::gradle::parse_go_bases),
    ("multi_swe_gradle", multi_swe::gradle::parse),
    ("multi_swe_gson", multi_swe::surefire::parse_gson),
    ("multi_swe_insomnia", multi_swe::lists::parse_insomnia),
    ("multi_swe_jest", multi_swe::jest::parse),
    ("multi_swe_jib", multi_swe::gradle::parse_jib),
    ("multi_swe_mocha", multi_swe::lists::parse_mocha),
    ("multi_swe_mui", multi_swe::mocha_json::parse_mui),
    ("multi_swe_surefire", multi_swe::surefire::parse),
    ("multi_swe_surefire_plain", multi_swe::surefire::parse_plain),
    ("multi_swe_vitest", multi_swe::lists::parse_vitest),
    ("multi_swe_zstd", multi_swe::lists::parse_zstd),
    ("r2e_gym", elsewhere::r2e_gym::parse),
    ("swe_bench_pro", elsewhere::pro::parse),
    ("swe_bench_pro_go", elsewhere::pro::parse_go),
    ("swe_bench_pro_go_json", elsewhere::pro::parse_go_json),
];

/// All tables of names.
const TABLES: &[&[(&str, Parser)]] = &[OFFICIAL, ELSEWHERE];

/// A parser's name that we do not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("find log parser: there is none named `{name}` ({})", hint(name))]
pub struct UnknownParser {
    /// The name as given.
    pub name: String,
}

/// The parser of a name, with or without the `parse_log_` that datasets put before it.
///
/// # Errors
/// There is none of that name.
pub fn parser(name: &str) -> Result<Parser, UnknownParser> {
    let wanted = bare(name);
    entries()
        .find(|(known, _)| *known == wanted)
        .map(|(_, parser)| parser)
        .ok_or_else(|| UnknownParser {
            name: name.to_owned(),
        })
}

/// The names of all parsers.
pub fn known() -> Vec<&'static str> {
    entries().map(|(name, _)| name).collect()
}

fn entries() -> impl Iterator<Item = (&'static str, Parser)> {
    TABLES.iter().flat_map(|table| table.iter().copied())
}

fn bare(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix("parse_log_").unwrap_or(name)
}

/// The nearest names, or all where none is near.
fn hint(name: &str) -> String {
    let near = parsers_like(name.trim());
    if near.is_empty() {
        return format!("there are: {}", known().join(", "));
    }
    format!("near: {}", near.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_there_once() {
        assert_eq!(OFFICIAL.len(), 57);
        let names: HashSet<_> = known().into_iter().collect();
        assert_eq!(names.len(), known().len());
        assert!(parser("parse_log_pytest").is_ok() && parser(" pytest ").is_ok());
    }

    #[test]
    fn unknown_names_are_told_their_neighbours() {
        let error = parser("parse_log_pytset").unwrap_err().to_string();
        assert!(error.contains("near: pytest"), "{error}");
        let error = parser("zzz").unwrap_err().to_string();
        assert!(error.contains("there are: pytest, "), "{error}");
    }
}
