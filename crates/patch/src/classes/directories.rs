//! Directories that hold tests.

use super::PathParts;
use super::pattern::fits_any;

/// Names of directories in which everything belongs to the tests, in any case, at any depth. `testing` is not one: it is where libraries
/// keep what they offer for the tests of others.
const TEST: &[&str] = &[
    "test",
    "tests",
    "__tests__",
    "__test__",
    "__mocks__",
    "__fixtures__",
    "__snapshots__",
    "__image_snapshots__",
    "e2e",
    // `integration-tests`, `_docs tests`, `tests-build`, …
    "*-tests",
    "*_tests",
    "* tests",
    "*.tests",
    "tests-*",
    "tests_*",
    "*-e2e",
    "*_e2e",
    "e2e-test",
    "e2e_test",
    "unittest",
    "unittests",
    "unit-test",
    "unit_test",
    "integration-test",
    "integration_test",
    "integrationtest",
    "integrationtests",
    "functional-test",
    "functional_test",
    "system-test",
    "system_test",
    "smoke-test",
    "smoke_test",
    "selftest",
    "self-test",
    "selftests",
    "uitest",
    "uitests",
    "dts-test",
    "test-dts",
    // What tests are made of.
    "testdata",
    "test-data",
    "test_data",
    "testcase",
    "testcases",
    "test-cases",
    "test_cases",
    "testsuite",
    "testsuites",
    "test-suite",
    "test_suite",
    "testfixtures",
    "test-fixtures",
    "test_fixtures",
    "testresources",
    "test-resources",
    "test_resources",
    "testscripts",
    "test-scripts",
    "test_scripts",
    "testapp",
    "testapps",
    "test-app",
    "test-apps",
    "test_app",
    "test_apps",
    "testproject",
    "test-project",
    "test_project",
    "test-framework",
    "caddytest",
];

/// Names that mean tests at the root of a repository only.
const AT_ROOT: &[&str] = &["testing", "t", "cypress", "playwright"];

/// Directories that mean tests together.
const BELOW: &[&[&str]] = &[
    &["features", "step_definitions"],
    &["cypress", "integration"],
    &["cypress", "support"],
    &["cypress", "fixtures"],
    &["cypress", "plugins"],
];

/// Names whose capitals make the word: `PhpSpreadsheetTests`, `MyApp.Tests`.
const TEST_CAPITAL: &[&str] = &["*Tests"];

/// Go packages that exist for the tests of their own module.
const GO_SUPPORT: &[&str] = &[
    "testutil",
    "testutils",
    "testhelper",
    "testhelpers",
    "*testutil",
];

/// Directories that hold the code of a product although their name says test.
const SHIPPED: &[&[&str]] = &[
    // Django's and fluentd's support for the tests of their users.
    &["django", "test"],
    &["lib", "fluent", "test"],
    // Ansible's Jinja tests, and its test tool.
    &["lib", "ansible", "plugins", "test"],
    &["test", "lib", "ansible_test"],
    // The `test` command of coreutils.
    &["src", "uu", "test"],
];

/// Extensions of code that runs under a `spec` directory; what else lies there may be a specification.
const SPEC_CODE: &[&str] = &[
    "rb", "erb", "rake", "ru", "js", "jsx", "ts", "tsx", "mjs", "cjs", "coffee", "snap", "php",
    "cr", "lua", "scala", "groovy",
];

/// Directories below `spec` that hold what its tests need.
const SPEC_SUPPORT: &[&str] = &[
    "fixtures",
    "fixture",
    "support",
    "examples",
    "dummy",
    "cassettes",
    "snapshots",
    "shared",
    "factories",
];

/// Whether the directory names of a path say that it belongs to the tests.
pub(super) fn is_test(path: &PathParts<'_>) -> bool {
    path.directories
        .first()
        .is_some_and(|first| AT_ROOT.contains(first))
        || BELOW.iter().any(|directories| path.is_below(directories))
        || is_source_set(path)
        || is_spec(path)
        || is_perl(path)
        || path
            .directories
            .iter()
            .any(|directory| is_test_directory(directory, path))
}

/// Whether the path lies in a directory that ships although its name says test.
pub(super) fn is_shipped(path: &PathParts<'_>) -> bool {
    SHIPPED.iter().any(|directories| path.is_below(directories))
}

fn is_test_directory(directory: &str, path: &PathParts<'_>) -> bool {
    if directory == "Test" && is_product_php(path) {
        return false;
    }
    fits_any(TEST, &directory.to_ascii_lowercase())
        || fits_any(TEST_CAPITAL, directory)
        || (path.extension == "go" && fits_any(GO_SUPPORT, directory))
}

/// PHP below a root `src` is what autoloading ships: `src/Illuminate/Testing`, `src/Twig/Test`.
pub(super) fn is_product_php(path: &PathParts<'_>) -> bool {
    path.extension == "php" && path.directories.first() == Some(&"src")
}

/// Source sets of Gradle and Maven: `src/androidTest`, `src/integration-test`, `src/testFixtures`, `src/it`.
fn is_source_set(path: &PathParts<'_>) -> bool {
    path.directories.windows(2).any(|pair| match pair {
        ["src", set] => {
            fits_any(
                &[
                    "it",
                    "*Test",
                    "*-test",
                    "test-*",
                    "testFixtures",
                    "*IntTest",
                ],
                set,
            ) && is_jvm(path)
        }
        _ => false,
    })
}

fn is_jvm(path: &PathParts<'_>) -> bool {
    !matches!(
        path.extension,
        "js" | "jsx" | "ts" | "tsx" | "rs" | "go" | "py" | "php"
    )
}

/// `spec` and `specs`: tests where code lies in them, unless below `src` or `lib`, where a product may keep its specifications.
fn is_spec(path: &PathParts<'_>) -> bool {
    let Some(at) = path
        .directories
        .iter()
        .position(|directory| matches!(*directory, "spec" | "specs"))
    else {
        return false;
    };
    let (above, below) = path.directories.split_at(at);
    let in_product = above
        .iter()
        .any(|directory| matches!(*directory, "src" | "lib"));
    let supports = below
        .iter()
        .any(|directory| SPEC_SUPPORT.contains(directory));
    !in_product && (supports || SPEC_CODE.contains(&path.extension))
}

/// Perl's tests below any `t`.
fn is_perl(path: &PathParts<'_>) -> bool {
    let mut directories = path.directories.iter();
    path.extension == "t" && directories.any(|directory| matches!(*directory, "t" | "xt"))
}
