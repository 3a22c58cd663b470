//! Each parser gives its results in order, each with the line that says it.

use std::collections::BTreeSet;

use grade::{Context, parser};
use pretty_assertions::assert_eq;

/// A log, and what parsers make of it.
struct Case {
    parsers: &'static [&'static str],
    /// Instance and version, for parsers that choose their rules by them.
    variant: (&'static str, &'static str),
    log: &'static str,
    /// Line, status and whole name of each result; line 0 where a result is not one line's.
    results: &'static [&'static str],
}

const fn case(
    parsers: &'static [&'static str],
    log: &'static str,
    results: &'static [&'static str],
) -> Case {
    Case {
        parsers,
        variant: ("o__r-1", "1.0"),
        log,
        results,
    }
}

impl Case {
    const fn of(self, instance: &'static str, version: &'static str) -> Self {
        Self {
            variant: (instance, version),
            ..self
        }
    }
}

const PYTHON: &[Case] = &[
    case(
        &[
            "pytest",
            "astroid",
            "flask",
            "marshmallow",
            "pvlib",
            "pyvista",
            "sqlfluff",
            "xarray",
            "pytest_options",
            "pydicom",
            "pylint",
            "requests",
            "matplotlib",
            "pytest_v2",
            "astropy",
            "scikit",
            "sphinx",
        ],
        "collected\nPASSED t.py::a[x y]\n\nFAILED t.py::b - no\nXFAIL t.py::c\nERROR t.py - no\nt.py::d SKIPPED (no) [ 9%]\n",
        &[
            "2 PASSED t.py::a[x y]",
            "4 FAILED t.py::b",
            "5 XFAIL t.py::c",
            "6 ERROR t.py",
            "7 SKIPPED t.py::d",
        ],
    ),
    case(
        &["seaborn"],
        "x\nt.py::a PASSED [ 50%]\nFAILED t.py::b - no\nPASSED t.py::c\n",
        &["2 PASSED t.py::a", "3 FAILED t.py::b", "4 PASSED t.py::c"],
    ),
    case(
        &["django"],
        "x\ntest_a (t.T) ... ok\ntest_b (t.T) ... Internal Server Error: /b/\nok\ntest_c (t.T) ... ERROR\nFAIL: test_d (t.T)\ntest_e (t.T) ... skipped 'no'\n",
        &[
            "2 PASSED test_a (t.T)",
            "3 PASSED test_b (t.T)",
            "4 PASSED test_b (t.T)",
            "5 ERROR test_c (t.T)",
            "6 FAILED test_d (t.T)",
            "7 SKIPPED test_e (t.T)",
        ],
    ),
    case(
        &["sympy"],
        "x/test_a.py[3]\ntest_a ok\ntest_b F\ntest_c E\n",
        &[
            "2 PASSED x/test_a.py:test_a",
            "3 FAILED x/test_a.py:test_b",
            "4 ERROR x/test_a.py:test_c",
        ],
    ),
];

const JAVASCRIPT: &[Case] = &[
    case(
        &["calypso"],
        "$ ./node_modules/.bin/jest a\n  suite\n    ✓ a (2ms)\n    ✕ b\n",
        &["3 PASSED suite - a", "4 FAILED suite - b"],
    ),
    case(
        &["chart_js"],
        "x\n\u{1b}[31mChrome 9.0 (Linux) a FAILED\n\nChrome 9.0 (Linux) b FAILED\n",
        &["2 FAILED a ", "4 FAILED b "],
    ),
    case(
        &["openlayers"],
        "x\nChrome 9.0 (Linux x86_64) a FAILED\n\ncase b: mismatch\n",
        &["2 FAILED a", "4 FAILED b"],
    ),
    case(
        &["bpmn_js"],
        "x\nHeadlessChrome 9.0 (Linux 0.0.0) a FAILED\n\nHeadlessChrome 9.0 (Linux 0.0.0) b FAILED\n",
        &["2 FAILED a ", "4 FAILED b "],
    ),
    case(
        &["eslint"],
        "x\n  1) rule\n     is applied:\n     AssertionError: no\n",
        &["2 FAILED rule is applied:"],
    ),
    case(
        &["marked"],
        "x\n1) a\n\n2) b\n",
        &["2 FAILED a", "4 FAILED b"],
    ),
    case(
        &["p5js"],
        "x\n{\n\n}\n  1) suite\n       a:\n<a>\n<b>\n</b>\n</a>x\n     AssertionError\n  2) suite\n       <c>\n\n</c>b:\n",
        &["5 FAILED suite:a", "12 FAILED suite:b"],
    ),
    case(
        &["jest", "swe_smith_jest"],
        "PASS a.js\n✓ a (2 ms)\n\n✕ b\n○ c\n",
        &["2 PASSED a", "4 FAILED b", "5 SKIPPED c"],
    ),
    case(
        &["immutable_js"],
        "PASS a.js\n✓ a (2 ms)\n\n✕ b\n",
        &["2 PASSED a", "4 FAILED b"],
    )
    .of("o__r-2006", ""),
    case(
        &["jest_json", "immutable_js"],
        "x\n[PASSED] a > b\n\n[FAILED] a > c\n",
        &["2 PASSED a > b", "4 FAILED a > c"],
    )
    .of("o__r-2005", ""),
    case(
        &["react_pdf", "carbon", "lighthouse"],
        "x\nPASS a.js (1.2 s)\n\nFAIL b.js\n",
        &["2 PASSED a.js", "4 FAILED b.js"],
    )
    .of("o__r-1", "5.0"),
    case(
        &["grommet"],
        "x\nPASS a.js (1.2 s)\n\nPASS b.js\n",
        &["2 PASSED a.js", "4 PASSED b.js"],
    ),
    case(
        &["vitest"],
        "x\n✓ a > b 2ms\n\n× a > c\n",
        &["2 PASSED a > b", "4 FAILED a > c"],
    ),
    case(
        &["karma"],
        "Starting browser Chrome\n  suite\n    ✔ a\n    ✖ b\nSUMMARY:\n",
        &["3 PASSED suite > a", "4 FAILED suite > b"],
    ),
    case(
        &["tap"],
        "TAP version 13\nok 1 - a\nnot ok 2 - b\n",
        &["2 PASSED a", "3 FAILED b"],
    ),
    case(
        &["highlightjs"],
        "x\n  suite\n    ✓ a (2ms)\n    1) b\n  1 passing\n",
        &["3 PASSED suite.a", "4 FAILED suite.b"],
    ),
    case(
        &["lighthouse"],
        "running 2 test files\n  suite\n    ✔ a (2ms)\n    1) b\n  1 passing\n",
        &["3 PASSED a", "4 FAILED b"],
    )
    .of("o__r-1", "9.5"),
    case(
        &["next"],
        "$ xvfb-run a\nStarting browser Chrome\n  suite\n    ✓ a\nAssertionError: #\n\n    ✗ b\n    ✓ c\nTOTAL\n",
        &[
            "4 PASSED suite - a",
            "7 FAILED suite - b",
            "8 PASSED suite - c",
        ],
    ),
    case(
        &["prismjs"],
        "$ ./node_modules/.bin/mocha tests/run.js --reporter json\n{\"failures\": [{\"fullTitle\": \"a\"}], \"passes\": [{\"fullTitle\": \"b\"}]}\n",
        &["1 FAILED a", "1 PASSED b"],
    ),
    case(
        &["quarto_cli"],
        "x\n[smoke] > a ... \u{1b}[0m\u{1b}[32mok\u{1b}[0m\n\n[unit] > b ... \u{1b}[31mFAILED\u{1b}[0m\n",
        &["2 PASSED [smoke] > a", "4 FAILED [unit] > b"],
    ),
];

const OTHERS: &[Case] = &[
    case(
        &["redis"],
        "x\n[ok]: a (2 ms)\n\n[err]: b in t.tcl\n[skip]: c\n",
        &["2 PASSED a", "4 FAILED b", "5 SKIPPED c"],
    ),
    case(
        &["jq"],
        "x\nPASS: a\n\nFAIL: b\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["doctest"],
        "x\n<doctest><TestCase name=\"a\"><SubCase name=\"b\"/>\n<SubCase name=\"c\"><Expression success=\"false\"/></SubCase></TestCase></doctest>\n",
        &["2 PASSED a > b", "2 FAILED a > c"],
    ),
    case(
        &["micropython_test"],
        "x\npass a.py\n\nFAIL b.py\nskip c.py\n",
        &["2 PASSED a.py", "4 FAILED b.py", "5 SKIPPED c.py"],
    ),
    case(
        &["googletest", "swe_smith_googletest", "multi_swe_googletest"],
        "x\n[       OK ] S.a (0 ms)\n\n[  FAILED  ] S.b (2 ms)\n",
        &["2 PASSED S.a", "4 FAILED S.b"],
    ),
    case(
        &[
            "gotest",
            "swe_smith_gotest",
            "swe_bench_pro_go",
            "swe_bench_pro_go_json",
        ],
        "x\n--- PASS: A (0.0s)\n    --- FAIL: A/b (0.1s)\n--- SKIP: C (0.0s)\n",
        &["2 PASSED A", "3 FAILED A/b", "4 SKIPPED C"],
    ),
    case(
        &["multi_swe_gotest", "multi_swe_gotest_bases"],
        "x\n--- PASS: A (0.0s)\n\n--- FAIL: B (0.1s)\n",
        &["2 PASSED A", "4 FAILED B"],
    ),
    case(
        &["swe_bench_pro_go_json"],
        "x\n{\"Action\":\"pass\",\"Test\":\"A\"}\n\n{\"Action\":\"fail\",\"Test\":\"B\"}\n",
        &["2 PASSED A", "4 FAILED B"],
    ),
    case(
        &["maven"],
        "+ mvn -Dtest=A test\n[INFO] BUILD SUCCESS\n+ mvn -Dtest=B test\n[INFO] BUILD FAILURE\n",
        &["2 PASSED A", "4 FAILED B"],
    ),
    case(
        &["ant"],
        "x\n[junit] [PASS] a\n\n[junit] [ERR] b\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["gradle_custom", "multi_swe_gradle", "multi_swe_jib"],
        "x\nA > a PASSED\n\nA > b FAILED\n",
        &["2 PASSED A > a", "4 FAILED A > b"],
    ),
    case(
        &["phpunit"],
        "Suite (A\\B)\n ✔ a\n\n ✘ b\n ↩ c\n",
        &[
            "2 PASSED Suite > a",
            "4 FAILED Suite > b",
            "5 SKIPPED Suite > c",
        ],
    ),
    case(
        &["swe_smith_phpunit"],
        "Suite (A\\B)\n ✔ a\n\n ✘ b\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["minitest"],
        "x\nA#a. = 0.01 s = .\n\nA#b. = 0.01 s = F\n",
        &["2 PASSED A#a", "4 FAILED A#b"],
    ),
    case(
        &["jekyll"],
        "x\nA#a. = 0.01 s = .\n\nA#b. = 0.01 s = F\n",
        &["2 PASSED A#a", "4 FAILED A#b"],
    )
    .of("jekyll__jekyll-9141", ""),
    case(
        &["cucumber", "jekyll"],
        "x\na .....\n\nb ..F\n",
        &["2 PASSED a", "4 FAILED b"],
    )
    .of("jekyll__jekyll-8761", ""),
    case(
        &["ruby_unit"],
        "x\ntest: a:\t.: (0.1)\n\ntest: b:\tF\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["rspec_transformed_json"],
        "x\na - passed\n\nb - failed\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["cargo"],
        "     Running unittests a.rs (target/a)\ntest a ... ok\n\ntest b ... FAILED\n",
        &["2 PASSED a.rs: a", "4 FAILED a.rs: b"],
    ),
    case(
        &["swe_smith_cargo", "multi_swe_cargo"],
        "x\ntest a ... ok\n\ntest b ... FAILED\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
];

const SMITH: &[Case] = &[
    case(
        &["swe_smith"],
        "x\nt.py::a PASSED [ 9%]\n\nt.py::b FAILED [ 9%]\n",
        &["2 PASSED t.py::a", "4 FAILED t.py::b"],
    ),
    case(
        &["swe_smith_autograd"],
        "x\n[gw0] PASSED t.py::a\n\n[gw1] FAILED t.py::b\n",
        &["2 PASSED t.py::a", "4 FAILED t.py::b"],
    ),
    case(
        &["swe_smith_paramiko"],
        "x\nPASSED t.py::a\n\nFAILED t.py::b - no\n",
        &["2 PASSED t.py::a", "4 FAILED t.py::b"],
    ),
    case(
        &["swe_smith_mypy"],
        "x\n[gw0] PASSED a\n\n[gw1] FAILED b\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["swe_smith_slugify", "swe_smith_tornado"],
        "x\na (t.T) ... ok\n\nb (t.T) ... ok\n",
        &["2 PASSED a (t.T)", "4 PASSED b (t.T)"],
    ),
    case(
        &["swe_smith_airsim"],
        "x\n[ PASSED ] a\n\n[ PASSED ] b\n",
        &["2 PASSED a", "4 PASSED b"],
    ),
    case(
        &["swe_smith_boost"],
        "x\nEntering test case \"a\"\n\nEntering test case \"b\"\n",
        &["2 PASSED a", "4 PASSED b"],
    ),
    case(
        &["swe_smith_catch2"],
        "x.\na ... PASSED\nb ... FAILED\n",
        &["2 PASSED a", "3 FAILED b"],
    ),
    case(
        &["swe_smith_ctest"],
        "x\n1/2 Test #1: a ..... Passed 0.1 sec\n\n2/2 Test #2: b ..... Failed 0.1 sec\nThe following tests FAILED:\n\t  2 - b (Failed)\n",
        &["2 PASSED a", "4 FAILED b", "6 FAILED b"],
    ),
    case(
        &["swe_smith_dotnet"],
        "x\n  Passed a [1 s]\n\n  Failed b [1 s]\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["swe_smith_junit"],
        "x\n<?xml version=\"1.0\"?><testsuite name=\"S\">\n<testcase name=\"a\" classname=\"C\"/></testsuite>\n",
        &["2 PASSED C.a"],
    ),
    case(
        &["swe_smith_surefire"],
        "x\n[INFO] C.a -- Time elapsed: 0.1 s\n\n[ERROR] C.b -- Time elapsed: 0.1 s <<< FAILURE!\n",
        &["2 PASSED C.a", "4 FAILED C.b"],
    ),
    case(
        &["swe_smith_mocha", "swe_smith_mocha_totals"],
        "x\n  ✓ a (2ms)\n\n  1) b\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["swe_smith_node"],
        "x\n✔ a (0.1ms)\n\n✖ b (0.1ms)\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["swe_smith_react_pdf"],
        "x\n ✓ a 2ms\n\n ✗ b 2ms\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["swe_smith_vitest"],
        "x\n ✓ a.js (2)\n\n ❯ b.js (2)\n",
        &["2 PASSED a.js", "4 FAILED b.js"],
    ),
    case(
        &["swe_smith_turbo"],
        "x\na:test: go\n\nb:test: go\n",
        &["2 PASSED a:test", "4 PASSED b:test"],
    ),
    // Totals are no test's line.
    case(&["swe_smith_cppunit"], "x\nOK (1)\n", &["0 PASSED test_0"]),
    case(
        &["swe_smith_jasmine"],
        "x\n2 specs, 1 failure\n",
        &["0 PASSED jasmine_spec_1", "0 FAILED jasmine_spec_failed_1"],
    ),
    case(
        &["swe_smith_karma"],
        "x\nExecuted 1 of 1 SUCCESS\n",
        &["0 PASSED karma_unit_test_1"],
    ),
];

const ELSEWHERE: &[Case] = &[
    case(
        &["multi_swe_automake", "multi_swe_zstd"],
        "x\nPASS: a\n\nFAIL: b\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["multi_swe_catch2"],
        "x\n1/2 Test #1: a .....   Passed 0.1 sec\n\n2/2 Test #2: b .....***Failed 0.1 sec\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["multi_swe_ctest"],
        "x\n1/2 Test #1: a .....   Passed 0.1 sec\n\n2/2 Test #2: b .....***Failed\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["multi_swe_jest", "multi_swe_darkreader"],
        "x\nPASS a.js (1.2 s)\n✓ a (2 ms)\n✕ b\n",
        &["2 PASSED a.js", "3 PASSED a.js:a", "4 FAILED a.js:b"],
    ),
    case(
        &["multi_swe_insomnia"],
        "x\n✓ a.ts (2 tests) 3ms\n\nFAIL b.ts\n",
        &["2 PASSED a.ts", "4 FAILED b.ts"],
    ),
    case(
        &["multi_swe_mocha"],
        "x\n  ✔ a (2ms)\n\n  1) b\n",
        &["2 PASSED a", "4 FAILED b"],
    ),
    case(
        &["multi_swe_vitest"],
        "x\n ✓ a > b 2ms\n\n × a > c 2ms\n",
        &["2 PASSED a > b", "4 FAILED a > c"],
    ),
    case(
        &["multi_swe_surefire", "multi_swe_surefire_plain"],
        "x\nTests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in A\n\nTests run: 1, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in B\n",
        &["2 PASSED A", "4 FAILED B"],
    ),
    case(
        &["multi_swe_gson"],
        "something\nRunning A\nTests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 sec\nRunning B\nTests run: 1, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 sec <<< FAILURE!\n",
        &["2 PASSED A", "4 FAILED B"],
    ),
    // Reports whose objects may lie anywhere.
    case(
        &["multi_swe_express"],
        "x\n{\"passes\": [{\"fullTitle\": \"a\"}], \"failures\": [], \"pending\": []}\n",
        &["0 PASSED a"],
    ),
    case(
        &["multi_swe_mui"],
        "Building new\n{\"passes\": [{\"fullTitle\": \"a\", \"file\": \"f\"}], \"failures\": [], \"pending\": []}\n",
        &["0 PASSED f:a"],
    ),
    case(
        &["swe_bench_pro"],
        "x\n{\"tests\": [{\"name\": \"a\", \"status\": \"PASSED\"}]}\n",
        &["0 PASSED a"],
    ),
    case(
        &["r2e_gym"],
        "PASSED x\n== short test summary info ==\nPASSED t.py::A::a\nFAILED t.py::b - no\n",
        &["3 PASSED A.a", "4 FAILED b"],
    ),
];

fn cases() -> impl Iterator<Item = (&'static str, &'static Case)> {
    [PYTHON, JAVASCRIPT, OTHERS, SMITH, ELSEWHERE]
        .into_iter()
        .flatten()
        .flat_map(|case| case.parsers.iter().map(move |name| (*name, case)))
}

#[test]
fn every_result_has_its_line() {
    let held = cases().map(|(name, case)| {
        let (instance_id, version) = case.variant;
        let context = Context {
            instance_id,
            version,
            ..Context::default()
        };
        let parsed = parser(name).unwrap()(case.log, &context);
        let tests = parsed.tests().iter();
        let results: Vec<String> = tests
            .map(|test| format!("{} {} {}", test.line, test.word, test.name))
            .collect();
        (name, results)
    });
    let expected = cases().map(|(name, case)| {
        let results = case.results.iter().map(|result| (*result).to_owned());
        (name, results.collect::<Vec<_>>())
    });
    assert_eq!(held.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn every_parser_is_held_to_that() {
    let held: BTreeSet<&str> = cases().map(|(name, _)| name).collect();
    let known: BTreeSet<&str> = grade::parse::known().into_iter().collect();
    assert_eq!(held, known);
}
