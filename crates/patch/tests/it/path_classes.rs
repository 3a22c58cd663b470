//! What paths of real projects are for.

use patch::{PatchPath, PathClass, PathClasses};

fn class(path: &str) -> PathClass {
    PathClasses::default().classify(&PatchPath::from(path))
}

fn assert_all(expected: PathClass, paths: &[&str]) {
    let wrong: Vec<_> = paths
        .iter()
        .filter(|path| class(path) != expected)
        .map(|path| format!("{path} is {:?}", class(path)))
        .collect();
    assert!(wrong.is_empty(), "not {expected:?}:\n{}", wrong.join("\n"));
}

#[test]
fn what_only_sounds_like_a_test_is_source() {
    assert_all(
        PathClass::Source,
        &[
            "latest_version.py",
            "contest_utils.py",
            "src/testing/helpers.py",
            "src/attestation/verify.go",
            "greatest/common.rs",
            "protest/index.js",
            "src/contest/main.rs",
            "lib/detest.rb",
            "fastest/index.md",
            "src/inspect.ts",
            "src/spectrum.js",
            "specification/api.yaml",
            "spec/openapi.yaml",
            "specs/2024-01-design.md",
            "src/spec/base.ts",
            "lib/rubocop/rspec/support.rb",
        ],
    );
}

#[test]
fn tests_of_every_language() {
    assert_all(
        PathClass::Test,
        &[
            "tests/a.py",
            "foo_test.go",
            "foo.test.ts",
            "__tests__/x.js",
            "spec/a_spec.rb",
            "src/test/java/A.java",
            "t/x.t",
            "Dropdown-test.js",
            "packages/react/__tests__/__snapshots__/PublicAPI-test.js.snap",
            // Python
            "sympy/matrices/tests/test_sparse.py",
            "lib/matplotlib/tests/baseline_images/test_axes/pie.png",
            "testing/test_assertrewrite.py",
            "testing/example_scripts/issue_519.py",
            "test_requests.py",
            "tests/roots/test-ext-autodoc/target/inheritance.py",
            "tests/functional/u/used_before_assignment.txt",
            "tests/unittest_nodes.py",
            "pylint/test/unittest_lint.py",
            "tests/admin_widgets/tests.py",
            "django_app/tests.py",
            "test/rules/std_L054_test.py",
            "pandas/tests/io/data/stata/x.dta",
            // Go
            "hugolib/page_test.go",
            "internal/config/testdata/advanced.yml",
            "caddytest/integration/caddyfile_adapt/acme.caddyfiletest",
            "caddytest/integration/listener_test.go",
            "testscripts/commands/new.txt",
            "internal/testutil/helpers.go",
            "testing/equivalence-tests/outputs/basic/plan",
            // Rust
            "crates/ruff_linter/resources/test/fixtures/pyflakes/F401.py",
            "crates/ruff_linter/src/rules/pyflakes/snapshots/ruff__F401.snap",
            "crates/nu-command/tests/commands/where_.rs",
            "tests/by-util/test_cp.rs",
            "test_suite/tests/ui/remote/nonremote_getter.stderr",
            "tests-integration/tests/process_stdio.rs",
            "axum/src/routing/tests/mod.rs",
            "src/iter/test.rs",
            "src/parser/tests.rs",
            // Java
            "lucene/core/src/test/org/apache/lucene/index/TestIndexWriter.java",
            "gson/src/test/java/com/google/gson/GsonTest.java",
            "processing/src/test/resources/x.json",
            "test/transform/resource/before/Builder.java",
            "javaparser-core-testing/src/test/java/A.java",
            "src/test-jdk17/java/Records.java",
            "app/src/androidTest/kotlin/A.kt",
            "src/integration-test/resources/x.json",
            "integration-tests/docker/x.sh",
            // Ruby
            "spec/rubocop/cop/style/x_spec.rb",
            "fastlane_core/spec/fixtures/x.plist",
            "test/plugin/test_in_tail.rb",
            "test/faker/default/test_faker_name.rb",
            "features/create_sites.feature",
            "features/step_definitions/x.rb",
            "logstash-core/spec/logstash/agent_spec.rb",
            // PHP
            "tests/Carbon/AddTest.php",
            "tests/PhpSpreadsheetTests/Reader/XlsxTest.php",
            "tests/Fixtures/Integration/x.test",
            "src/Symfony/Component/Yaml/Tests/ParserTest.php",
            // JavaScript and TypeScript
            "packages/babel-parser/test/fixtures/x/output.json",
            "packages/docusaurus-utils/src/__tests__/__fixtures__/x.md",
            "website/_dogfooding/_docs tests/tests/x.mdx",
            "packages/runtime-core/__tests__/apiInject.spec.ts",
            "packages/dts-test/ref.test-d.ts",
            "type-definitions/ts-tests/list.ts",
            "test/unit/src/math/Box3.tests.js",
            "test/e2e/puppeteer.js",
            "tests/format/js/x/jsfmt.spec.js.snap",
            "tests/format/js/x/input.js",
            "test/manual-test-examples/webgl/index.html",
            "packages/mui-material/src/Button/Button.test.js",
            "packages/mui-material/src/styles/createTheme.spec.ts",
            "packages/svelte/tests/runtime-runes/samples/x/main.svelte",
            "test/browser/spec/ol/map.test.js",
            "test/rendering/cases/x/expected.png",
            "client/state/sites/test/selectors.js",
            "tests/languages/bash/x_feature.test",
            "cypress/integration/login.js",
            "apps/web/cypress/support/commands.ts",
            "playwright/snapshots/x-linux.png",
            // C and C++
            "tests/unit/type/list.tcl",
            "tests/jq.test",
            "tests/shtest",
            "src/unit/test_listpack.c",
            "test/format-test.cc",
            "tests/src/unit-regression.cpp",
            "tests/fuzzer.c",
            "test/libponyc/badpony.cc",
            "packages/json/_test.pony",
            "projects/SelfTest/Baselines/console.std.approved.txt",
            "projects/SelfTest/UsageTests/Generators.tests.cpp",
            "tests/basics/int_big1.py.exp",
        ],
    );
}

#[test]
fn products_whose_names_hold_the_word() {
    assert_all(
        PathClass::Source,
        &[
            "django/test/client.py",
            "django/core/management/commands/test.py",
            "sklearn/utils/testing.py",
            "sklearn/utils/_testing.py",
            "xarray/testing.py",
            "numpy/testing/_private/utils.py",
            "lib/matplotlib/testing/decorators.py",
            "sympy/testing/runtests.py",
            "sphinx/testing/util.py",
            "pylint/testutils/output_line.py",
            "src/_pytest/pytester.py",
            "src/sqlfluff/testing/rules.py",
            "lib/ansible/plugins/test/core.py",
            "test/lib/ansible_test/_internal/util.py",
            "lib/fluent/test/driver/base.rb",
            "scan/lib/scan/test_command_generator.rb",
            "src/Illuminate/Testing/TestResponse.php",
            "src/Illuminate/Foundation/Testing/TestCase.php",
            "src/Carbon/Traits/Test.php",
            "src/Node/Expression/Test/DefinedTest.php",
            "src/main/java/io/reactivex/rxjava3/observers/TestObserver.java",
            "src/main/java/io/reactivex/rxjava3/schedulers/TestScheduler.java",
            "src/uu/test/src/test.rs",
            "src/uu/test/src/error.rs",
            "src/bin/cargo/commands/test.rs",
            "tokio-test/src/io.rs",
            "packages/runtime-test/src/index.ts",
            "packages/babel-helper-fixtures/src/index.ts",
            "test-utils/src/index.js",
            "src/catch2/internal/catch_test_case_info.cpp",
            "include/gtest/internal/x.h",
            "lib/features/modeling/ElementFactory.js",
            "packages/react/src/components/Dropdown/Dropdown-story.js",
            "proto/sample_v2_round_trip.json",
            "docs/content/manual/dev/manual.yml",
            "snapshots/restore.go",
            "fixtures/initial_data.json",
            "docs/topics/testing/tools.txt",
            "internal/snapshot/x.rs",
            "src/e2ee/keys.ts",
            "src/e2e-encryption/keys.ts",
            "packages/playwright/src/index.ts",
            "lucene/core/src/java/org/apache/lucene/PartitionsSpec.java",
        ],
    );
}

#[test]
fn configuration_of_test_runners_and_nothing_else() {
    assert_all(
        PathClass::RunnerConfig,
        &[
            "tox.ini",
            "pytest.ini",
            "conftest.py",
            "tests/conftest.py",
            "sklearn/conftest.py",
            "jest.config.js",
            "packages/x/jest.config.ts",
            "test/client/jest.config.json",
            "vitest.config.mts",
            "vitest.workspace.ts",
            "karma.conf.js",
            ".mocharc.yml",
            "test/mocha.opts",
            ".rspec",
            "phpunit.xml",
            "phpunit.xml.dist",
            ".config/nextest.toml",
            "playwright.config.ts",
            "cypress.config.js",
            "noxfile.py",
            ".coveragerc",
        ],
    );
    assert_all(
        PathClass::Source,
        &[
            "setup.cfg",
            "setup.py",
            "pyproject.toml",
            "package.json",
            "Cargo.toml",
            "tsconfig.json",
            "babel.config.js",
            "Makefile",
            ".github/workflows/test.yml",
            "src/jest.config.parser/x.js",
        ],
    );
}

#[test]
fn users_add_and_remove_patterns() {
    let classes = PathClasses::with(
        &[
            (PathClass::Test, "qa/"),
            (PathClass::Test, "*.golden"),
            (PathClass::RunnerConfig, "/build/run-tests.sh"),
            (PathClass::Source, "qa/lib/**"),
        ],
        &["tests/support/**", "spec/"],
    )
    .unwrap();
    let class = |path: &str| classes.classify(&PatchPath::from(path));
    assert_eq!(class("qa/deep/x.py"), PathClass::Test);
    assert_eq!(class("qa/lib/x.py"), PathClass::Source);
    assert_eq!(class("a/b/x.golden"), PathClass::Test);
    assert_eq!(class("build/run-tests.sh"), PathClass::RunnerConfig);
    assert_eq!(class("x/build/run-tests.sh"), PathClass::Source);
    assert_eq!(class("tests/support/x.py"), PathClass::Source);
    assert_eq!(class("tests/x.py"), PathClass::Test);
    assert_eq!(class("spec/a_spec.rb"), PathClass::Source);
    let error = PathClasses::with(&[], &["a[b"]).unwrap_err();
    assert_eq!(error.to_string(), "read path pattern `a[b`");
}
