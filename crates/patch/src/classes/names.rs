//! File names of tests, language by language.

use super::PathParts;
use super::directories::is_product_php;
use super::pattern::fits_any;

/// What the stem of a test's file looks like, for the extensions of a language.
struct Language {
    extensions: &'static [&'static str],
    stems: &'static [&'static str],
    /// Directories below which the stems mean nothing: the product's own code.
    except_below: &'static [&'static str],
}

const LANGUAGES: &[Language] = &[
    Language {
        extensions: &["py", "pyi", "pyx", "ipynb"],
        stems: &["test_*", "*_test", "*_tests", "tests", "unittest_*"],
        except_below: &[],
    },
    Language {
        extensions: &[
            "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "coffee", "vue", "svelte", "es6",
        ],
        stems: &[
            "*-test",
            "*_test",
            "*-tests",
            "*_tests",
            "*-spec",
            "*_spec",
            "tests",
            "test-helper",
            "test-helpers",
        ],
        except_below: &[],
    },
    Language {
        extensions: &["go"],
        stems: &["*_test"],
        except_below: &[],
    },
    Language {
        extensions: &["rs"],
        stems: &["tests", "*_test", "*_tests", "test_*"],
        except_below: &[],
    },
    Language {
        extensions: &["rs"],
        stems: &["test"],
        except_below: &[
            "bin",
            "cli",
            "cmd",
            "command",
            "commands",
            "subcommands",
            "ops",
        ],
    },
    Language {
        extensions: &["java", "kt", "kts", "scala", "groovy"],
        stems: &["*Test", "*Tests", "*TestCase", "*ITCase"],
        except_below: &["main"],
    },
    Language {
        extensions: &["kt", "scala", "groovy"],
        stems: &["*Spec"],
        except_below: &["main"],
    },
    Language {
        extensions: &["rb"],
        stems: &[
            "*_spec",
            "*_test",
            "spec_helper",
            "test_helper",
            "rails_helper",
        ],
        except_below: &[],
    },
    Language {
        extensions: &["rb"],
        stems: &["test_*"],
        except_below: &["lib", "app"],
    },
    Language {
        extensions: &[
            "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "cu", "m", "mm",
        ],
        stems: &[
            "*_test",
            "*-test",
            "*_tests",
            "*-tests",
            "*_unittest",
            "*_unittests",
            "test_*",
            "test-*",
            "*.test",
            "*.tests",
        ],
        except_below: &["include"],
    },
    Language {
        extensions: &["cs", "fs", "vb", "swift"],
        stems: &["*Test", "*Tests"],
        except_below: &[],
    },
    Language {
        extensions: &[
            "dart", "exs", "clj", "cljs", "cljc", "zig", "lua", "sh", "ex", "ml", "d", "nim", "jl",
            "pony",
        ],
        stems: &["*_test", "*_tests", "*_spec", "test_*", "_test"],
        except_below: &[],
    },
    Language {
        extensions: &["hs"],
        stems: &["*Spec", "*Test"],
        except_below: &[],
    },
    Language {
        extensions: &["erl"],
        stems: &["*_SUITE", "*_tests"],
        except_below: &[],
    },
];

/// Extensions of files that only tests have.
const EXTENSIONS: &[&str] = &["snap", "ambr", "phpt", "bats", "feature", "caddyfiletest"];

/// Second extensions of files that only tests have, before any last one.
const APPROVALS: &[&str] = &["*.approved", "*.received", "*.snap"];

/// Words between the dots of a script's name: `x.test.ts`, `x.spec.js`, `x.test.browser.tsx`, `x.test-d.ts`.
const SCRIPT_WORDS: &[&str] = &[
    "test", "tests", "spec", "specs", "e2e", "e2e-spec", "cy", "test-d", "spec-d",
];

const SCRIPTS: &[&str] = &[
    "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "coffee",
];

/// Whether the file's name says that it is a test.
pub(super) fn is_test(path: &PathParts<'_>) -> bool {
    EXTENSIONS.contains(&path.extension)
        || fits_any(APPROVALS, path.stem)
        || is_script_test(path)
        || is_root_test(path)
        || is_java_prefix(path)
        || is_php_test(path)
        || LANGUAGES.iter().any(|language| language.has(path))
}

impl Language {
    fn has(&self, path: &PathParts<'_>) -> bool {
        self.extensions.contains(&path.extension)
            && fits_any(self.stems, path.stem)
            && !path
                .directories
                .iter()
                .any(|directory| self.except_below.contains(directory))
    }
}

fn is_script_test(path: &PathParts<'_>) -> bool {
    SCRIPTS.contains(&path.extension)
        && path
            .stem
            .split('.')
            .skip(1)
            .any(|word| SCRIPT_WORDS.contains(&word))
}

/// `test.js` and `test.py` are a project's tests at its root; deeper they may be the command `test` of a product.
fn is_root_test(path: &PathParts<'_>) -> bool {
    path.directories.is_empty()
        && path.stem == "test"
        && (path.extension == "py" || SCRIPTS.contains(&path.extension))
}

/// `TestRange.java`, as Lucene names its tests; not `Testament.java`, and not the product's `src/main/…/TestObserver.java`.
fn is_java_prefix(path: &PathParts<'_>) -> bool {
    path.extension == "java"
        && !path.directories.contains(&"main")
        && path
            .stem
            .strip_prefix("Test")
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

fn is_php_test(path: &PathParts<'_>) -> bool {
    path.extension == "php" && !is_product_php(path) && fits_any(&["*Test", "*Cest"], path.stem)
}
