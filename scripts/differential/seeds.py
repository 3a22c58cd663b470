"""Lines as each test framework prints them, from which logs are made.

Own words throughout. In a line, {n} becomes a number, {w} a word, {p} a path, {s} a sentence.
"""

PYTEST = [
    "PASSED tests/test_{w}.py::test_{w}", "PASSED tests/test_{w}.py::test_{w}[{s}-{n}]", "PASSED tests/{p}::T::test_{w}[{w}]",
    "FAILED tests/test_{w}.py::test_{w} - AssertionError: {s}", "FAILED tests/test_{w}.py::test_{w}[{w} - {w}] - assert {n} == {n}",
    "FAILED - {s}", "FAILED  tests/x.py::a  - b", "ERROR tests/test_{w}.py - ImportError: {s}", "ERROR tests/test_{w}.py::test_{w}",
    "ERROR: file or directory not found: {p}", "SKIPPED [{n}] tests/test_{w}.py:{n}: {s}", "SKIPPED tests/test_{w}.py::test_{w}",
    "XFAIL tests/test_{w}.py::test_{w} - {s}", "XPASS tests/test_{w}.py::test_{w} {s}", "PASSED", "FAILED", "ERROR", "XFAIL", "SKIPPED ",
    "PASSED [{n}%]", "tests/test_{w}.py::test_{w} PASSED          [ {n}%]", "tests/test_{w}.py::test_{w}[{s}] FAILED", "{p}::test_{w} ERROR",
    "tests/test_{w}.py::test_{w} SKIPPED ({s})", "{p} PASSED", "  PASSED {p}", "PASSEDx {p}", "PASSED\t{p}::test_{w}",
    "==== {n} passed, {n} failed in {n}.{n}s ====", "tests/test_{w}.py ..F.s. [ {n}%]", "___ test_{w} ___", "E   assert {n}",
    "PASSED t.py::test_{w}[/tmp/{w}/{w}.py]", "PASSED t.py::test_{w}[//tmp/{w}]", "FAILED t.py::test_{w}[/a/*/{w}]", "PASSED t.py::t[/a/{w}]x]y",
    "PASSED t.py::t[/{w}/[{w}]/{w}]", "PASSED t.py::t[{w}", "PASSED t.py::t]{w}[", "PASSED t.py::t[MouseButton.LEFT-MouseButton.RIGHT-{n}]",
    "FAILED t.py::t[MouseButton.LEFT] - {s}", "MouseButton.LEFT PASSED", "{s} PASSED {s}", "a PASSED b", " PASSED ", " PASSED x",
    "\x1b[32mPASSED\x1b[0m tests/{p}::\x1b[1mtest_{w}\x1b[0m", "\x1b[31mFAILED\x1b[0m tests/{p}::\x1b[1mtest_{w}\x1b[0m - {s}",
    "\x1b[1;31mERROR\x1b[0m tests/{p}", "tests/{p}::test_{w} \x1b[32mPASSED\x1b[0m", "tests/{p}::test_{w} \x1b[32mPASSED\x1b[0m\x1b[32m [ {n}%]\x1b[0m",
    "[gw{n}] [ {n}%] PASSED tests/{p}::test_{w}", "[gw{n}] PASSED tests/{p}::test_{w}", "PAS[{n}mSED {w} {w}", "[[{n}mPASSED {w}", "[{n}]m PASSED",
    "\x01\x1fFAILED {w} {w} - {s}", "SKIPPED [\u0663] t.py:1: x", "[\u0663mPASSED {w}", "Compiling {w} ... ERROR", "x  y   z PASSED", "{s} - FAILED",
]

DJANGO = [
    "test_{w} (app.tests.{w}Tests) ... ok", "{s}. ... ok", "test_{w} (a.T) ... OK", "test_{w} (a.T) ...  OK", "test_{w} (a.T) ... FAIL",
    "test_{w} (a.T) ... ERROR", "test_{w} (a.T) ... skipped '{s}'", "test_{w} (a.T) ... expected failure", "FAIL: test_{w} (a.T)",
    "ERROR: test_{w} (a.T)", "FAIL:", "ERROR:", "FAIL:test_{w} (a)", "ok", "okay", "  ok {w}", "test_{w} (a.T) ... {s}", "test_{w} (a.T) ... ", " ... ok",
    "--version is equivalent to version ... ok", "x --version is equivalent to version y",
    "Applying sites.0002_alter_domain_unique...test_no_migrations (m.T) ... ok", "Applying sites.0002_alter_domain_unique...{w} ... ok",
    "  Applying sites.0002_alter_domain_unique...test_no_migrations ... OK",
    "test_{w} (a.T) ... Testing against Django installed in '{p}'\n{s}\nSystem check identified no issues ({n} silenced).\nok",
    "test_{w} (a.T) ... Testing against Django installed in {p} (0 silenced).\nok", "Testing against Django installed in '{p}'",
    "test_{w} (a.T) ... Internal Server Error: /{p}/\nok", "test_{w} ... Internal Server Error: /a/\nok\nok",
    "test_{w} (a.T) ... System check identified no issues (0 silenced)\nok", "test_{w}\n... System check identified no issues (0 silenced)\nok",
    "System check identified no issues (0 silenced).", "a ... b ... ok", "a ... skipped ... FAIL", "a ... FAIL ... FAIL", "Ran {n} tests in {n}.{n}s", "----",
    "test_{w} (a.T) ...\tTesting against Django installed in x silenced).\nok", "test ... ok ... ok",
]

SYMPY = [
    "sympy/core/tests/test_{w}.py[{n}] ", "test_{w} ok", "test_{w} F", "test_{w} E", "test_{w} f", "test_{w} X", "test_{w} ok                [OK]",
    "________ sympy/core/tests/test_{w}.py:test_{w} ________", "  File \"{p}/{w}.py\", line {n}, in {w}", "  File {p}.py:{n}: in {w}", "_ a.py:b _ c.py:d __",
    " .py: ", "a .py:b c", "test_{w} {w} ok", "  test_{w} ok", "test_ ok", "test_\tok", "x.py:y z", "____ a.py:b", "tests finished: {n} passed, in {n}.{n} seconds",
    "__ x y.py:z w ____", "_  .py:  _",
]

JEST = [
    "PASS src/{p}.test.js", "FAIL src/{p}.test.js ({n}.{n} s)", "  {w} suite", "    {w} {w}", "    ✓ {s} ({n} ms)", "    ✓ {s}", "      ✕ {s} ({n}ms)",
    "  ○ skipped {s}", "    ✓ {s} ({n} s)", "    ✕ {s} ({n}m)", "✓ {s}", "✓", "✕  ", "○ {w} ( {n} ms)", "    ✓  {s}  ({n} ms)", "✓ ({n} ms)", "✓ {w}({n} ms)",
    "  ● {w} › {w}", "Test Suites: {n} failed, {n} total", "Tests:       {n} passed, {n} total", "[PASSED] {w} > {s}", "[FAILED] {w} > {s}", "[PASSED]", "[PASSED]  {w}",
    "  [FAILED] {w}  ", "[SKIPPED] {w}", "    at Object.{w} ({p}:{n}:{n})", "+ ./node_modules/.bin/jest --verbose", "yarn run ./node_modules/.bin/jest {p}",
    "\t✓ tab {w} ({n}ms)", "    ✓ a ({n}ms) b", "    ✓ a ({n}ms) ({n}ms)", "    ✕ b ({n}ms)  ", "   ✓no space", "       deeper {w}", " one {w}", "PASS  {p}",
    "PASS {p} ({n}ms)", "PASS {p} ({n}.{n} s)", "FAIL {p} ({n}.{n}s) rest", "PASS {p} (.s)", "FAIL {p} ({n}ms) ({n}s)", "PASS", "FAIL", "PASSED {p}", "PASS\t{p}",
    "PASS {p} ( {n} ms)", "FAIL {p} ({n}\u2003s)", "PASS (5ms)", "FAIL  (5 s)", "\x1b[32m✓\x1b[0m {w}", "    ✓ {w} (\u0663 ms)", "    ✓ {w} (\u00b2 ms)",
]

VITEST = [
    " ✓ src/{p}.spec.ts > {w} > {s} {n}ms", " ✓ {p} > {w}", " × {p} > {w} > {s}", " ↓ {p} > {w} [skipped]", " ✓ {w} {n}", " ✓ {w} {n}s", " × {w}  {n} ms",
    " ✓ {n}ms", "✓ {w} {n} m", "↓ [skipped]", " ✓ a[skipped]", "✓ {w} {n} {n}", " ❯ {p} ({n} tests | {n} failed)", " Test Files  {n} passed", "✓ {w} \u0663ms", "×", "× x5ms",
    "✓ {w} {n}sm", " ✓ {w} {n}ss", "✓ a  ",
]

KARMA = [
    "START:", "INFO [launcher]: Starting browser ChromeHeadless", "  {w} suite", "    {w} inner", "      ✔ {s}", "    ✖ {s}", "✔ {w}", " ✖ {w}", "    ✔{w}", "  ",
    "      deep {w}", "SUMMARY:", "✔ {n} tests completed", "FAILED TESTS:", "   {w}", "\t\t{w}", " ", "", "Chrome {n}.0 (Linux x86_64): Executed {n} of {n} SUCCESS",
    "+ xvfb-run npx karma start", " xvfb-run npx karma start", "Starting browser Chrome", "    ✓ {s}", "    ✗ {s}", "TOTAL: {n} SUCCESS", "LOG: '{s}'", "  WARN: x",
    "  in {w}", "  Check {w}", "ERROR: 'x'", "AssertionError: #{n} {s}\n  at x\n\n", "AssertionError:  \n# x", "✗", "x ✓ {w} ✗ {w}", "\x1b[32m    ✓ {w}\x1b[39m",
    "  Running:  {p}.js   ({n} of {n})\n\n\n  {w} suite\n", "    {n}) {s}", "    ✓ {s} ({n}ms)", "    ✓ {w} (a) (b)", "\n\n    {n}) {w}", "    \u0663) {w}",
    "Running: x)\n\n\n\n\n{w}\n",
]

TAP = [
    "TAP version 13", "ok {n} - {s}", "not ok {n} {s}", "ok {n}", "  ok {n} {w}", "ok  {n} {w}", "ok {n}  {w}", "# Subtest: {w}", "    ok {n} - {w}", "1..{n}", "  ---",
    "  ...", "ok {w}", "not ok", "ok {n} {w} # SKIP {s}", "not ok {n} {w} # TODO", "Bail out! {s}", "ok \u0663 {w}", "# tests {n}", "okay {n} {w}", "not  ok {n} {w}",
]

CHART = [
    "Chrome {n}.0.{n} (Linux x86_64) {w} {s} FAILED", "Chrome {n}.0 (Linux {n}) {w}: Executed {n} of {n} FAILED", "Chrome\n{n}.0 (x) {w} FAILED",
    "\x1b[31mChrome {n}.0 (Linux x86_64) {w} FAILED\x1b[39m", "Chrome {n} (a) (b) {w} FAILED x", "Chrome {n} (a) FAILED", "Firefox {n}.0 (x) {w} FAILED", "Chrome {n}.0 () x FAILED",
    "Chrome  {n}.0 (x) y FAILED", "Chrome {n}.0\t(x)\t{w} FAILED FAILED", "2KPhantomJS 2.1.1 (Linux 0.0.0) {s} FAILED", "2KPhantomJS 2.1.1 (Linux x86_64) {s} FAILED",
    "Chrome Headless {n}.0 (Linux x86_64) {s} FAILED", "HeadlessChrome {n}.0.0 (Linux 0.0.0) {s} FAILED", "Chrome Headless {n}.0 (Linux {n}.0) {s} FAILED",
    "Chrome Headless a (Linux x86_64) b (Linux x86_64) {w} FAILED", "case {w}/main.js': mismatch", "case {p}: mismatch", "case 'a': ok", "  {n}) {w} {w}\n       {s}:\n     Error: {s}",
    "  {n}) {w}\n\n   AssertionError [ERR]: {s}", "  {n}) rule:\n      invalid\n   Error", " {n}) {w}\n", "\n  {n}) {w} Error: x", "  {n} passing (2s)", "  {n} failing", "\x1b[{n}", "\x1bM {w}",
    "   {n}) a\n b c   TypeError x Error y", "x  {n}) inner {w}\n  Error:", "Executed {n} of {n}", "\tError: {s}", "Error", "  1)Error", "  2) Error Error",
]

MARKED = [
    "{n}) {s}", " {n}) {w}", "{n}) ", "{n})", "{n}){w}", "{n})\t{w}  ", "{n} specs, {n} failures", "\u0663) {w}", "Message:", "  Expected {n} to be {n}.", "1) 2) {w}",
]

P5JS = [
    "  {n}) {w} {w}:\n", "  {n}) {w}\n       {w}\n         {s}:\n     Error: x", "{n}) {w}: {s}", "   {n}) {w}\n   {w}:", "x: {", "  \"{w}\": {n},", "}", " }", "y: [", "]", "{ {w} }",
    "[{n}]", "<{w}>", "</{w}>", "<div><div>{w}</div>", "<b>{w}</b>", "</div>", "<p>\n1) {w}:\n</p>", "\n\n  {n})\n  {w}:", "\x1b[31m  {n}) {w}:\x1b[0m", "{n}) no colon", "    at {p}:{n}:{n}",
    "<a><b>{w}</a></b>", "<a>x", "</a>", "{n}) " + "long " * 210 + ":", "\u0663)  {w}:", "{", "[", "  \n  {n})  {w}:", "<div>", "{n})   <i>{w}</i>:",
]

MOCHA = [
    "  {w} suite", "    {w} inner", "      ✓ {s}", "      ✔ {s} ({n}ms)", "      {n}) {s}", "    ✓ a ({n}ms) b ({n}ms)", "  {n} passing ({n}s)", "\t{n} passing", "  {n} failing", "✓", "1)", " ✔{w}",
    "  - pending {w}", "", "  ", "running {n} test files", "running\t{n} test files", "  ✔ {w} ({n}mms)", "  ✔ {w} ({n}s)", "    {n}) {w} ({n}ms) x", "    ✔ {w} ({n}ms) ({n}ms)", "✔  {w}", "   ✓ x (\u0663ms)",
    "{w} {n} passing", "   0 passing", "a ✓ {w}", "   x ) {n}) b", "    at {p}:{n}:{n}",
]

MOCHA_JSON = [
    "+ ./node_modules/.bin/mocha tests/run.js --reporter json\n{\"stats\": {}, \"passes\": [{\"fullTitle\": \"{w} {w}\"}], \"failures\": []}",
    "./node_modules/.bin/mocha tests/run.js --reporter json\n{\"passes\": [{\"fullTitle\": \"{w}\"}, {\"fullTitle\": \"{s}\"}], \"failures\": [{\"fullTitle\": \"{w}\", \"err\": {}}]}\ndone {w}",
    "./node_modules/.bin/mocha tests/run.js --reporter json\nno report", "./node_modules/.bin/mocha tests/run.js --reporter json\n{\"passes\": []}", "{w}", "{ {w} }",
    "./node_modules/.bin/mocha tests/run.js --reporter json {\"failures\": [], \"passes\": [], \"passes\": [{\"fullTitle\": \"\\u00e9{w}\"}]}",
    "./node_modules/.bin/mocha --reporter json\n{\n  \"passes\": [\n    {\n      \"title\": \"{w}\",\n      \"fullTitle\": \"{w} {w}\",\n      \"x\": 1\n    }\n  ],\n  \"failures\": [\n    {\n      \"fullTitle\": \"{w}\",\n      \"x\": []\n    }\n  ],\n}",
    "./node_modules/.bin/mocha --reporter json\n\"fullTitle\": \"{w}\",\n", "      \"fullTitle\": \"{w} \\\"{w}\\\"\",", "  \"failures\": [", "  \"passes\": [", "  ],", "]", "\"fullTitle\":\n\"{w}\",\n",
]

QUARTO = [
    "[smoke] > {p}.qmd ... \x1b[0m\x1b[32mok\x1b[0m ({n}ms)", "[unit] > {w} ... \x1b[0m\x1b[31mFAILED\x1b[0m", "[smoke] > quarto render /tmp/{w}.qmd ... \x1b[32mok", "[smoke] > x /tmp/{w}/a /tmp/{w}/b ...",
    "[smoke] > {w}", "[smoke] > {w} ...", "test result: [unit] {w}", "\x1b[34mINFO\x1b[0m [smoke] {w} 32mok", "[smoke] {n} passed {n} failed ({n} steps)", "ERRORS", "failures:", "[other] {w} ... 32mok", "[unit] /tmp/{w}.qmd/{w}/ ... 32mok",
    "[unit] /tmp/{w}-{w}.qmd 31mFAILED ... x", "[smoke] same ... 32mok", "[smoke] same ...", "[smoke] same ... 31mFAILED", "[smoke]...[unit]", "[smoke] /tmp//tmp/{w}/ ... 32mok",
]

REDIS = [
    "[ok]: {s} ({n} ms)", "[ok]: {w}", "[err]: {s} in tests/unit/{w}.tcl", "[err]: {w}  in  {p}", "[skip]: {s}", "[ignore]: {w}: {s}", "[ok]:{w}", "[ok]: ", "[ok]:  {w} ({n}s)", "[err]: in {p}", "[err]: a in b in c", "[exception]: {w}",
    "[err]: {w} in {p} ({n} ms)", "[err]: {w} in  ({n} ms)", " [ok]: {w}", "PASS: tests/{w}", "FAIL: tests/{w}", "PASS:", "SKIP: {w}", "PASS:  {w}", "FAIL:\u2003{w}", "pass  basics/{w}.py", "FAIL  {p}", "skip  {p} {w}", "pass", "pass\t{w}", "passx {w}", "{n} tests performed",
    "[       OK ] {w}.{w} ({n} ms)", "[  FAILED  ] {w}.{w} ({n} ms)", "{n}: [       OK ] {w}/{n}.{w} ({n} ms)", "[  FAILED  ] {w}.{w}, where GetParam() = {n} ({n} ms)", "[OK] {w}", "[ OK ] (x) ", "[OK ] a [FAILED] b (c)", "[ OK ] a (b) c (d)", "[OK]\t{w} (x)",
    "[ OK ]  ()", "[==========] {n} tests ran. ({n} ms total)", "[FAILED]x (y)", "[ OK ] a(b)", "]]]] (x)", "[OK] b (c) [FAILED] d)",
]

DOCTEST = [
    "<doctest binary=\"x\"><TestSuite><TestCase name=\"{w}\"><SubCase name=\"{w}\"><Expression success=\"true\"/></SubCase></TestCase></TestSuite></doctest>",
    "<doctest><TestCase name=\"{w}\"><SubCase name=\"a &lt; {w}\"><Expression success=\"false\"/><SubCase name=\"b\"><Expression success=\"true\"/></SubCase></SubCase><SubCase><Expression/></SubCase></TestCase></doctest>",
    "<doctest>\n  <TestCase name=\"{w}\">\n    <SubCase name=\"{w}\"/>\n", "  </TestCase>\n</doctest>", "<doctest", "</doctest>", "<TestCase name=\"{w}\"/>", "{s}", "<doctest><TestCase><TestCase name=\"{w}\"><SubCase name=\"{w}\"/></TestCase></TestCase></doctest>",
    "<doctest a=\"1\" a=\"2\"></doctest>", "<doctest>&nope;</doctest>", "<doctest xmlns=\"u\"><TestCase name=\"a\"><SubCase name=\"b\"/></TestCase></doctest>", "<doctest>\x01</doctest>", "<doctest>&#233;<!-- {w} --><TestCase name='q'><SubCase name='&#x41;'/></TestCase></doctest>",
]

GO = [
    "=== RUN   Test{w}", "--- PASS: Test{w} (0.{n}s)", "--- FAIL: Test{w} (0.00s)", "    --- PASS: Test{w}/{w}_{n} (0.00s)", "--- SKIP: Test{w} (0.00s)", "--- PASS: Test{w}", "--- PASS: A (b) ()", "--- PASS:  (x)", "--- BENCH: B (x)", "--- PASS: {s} ({w}) x", "ok  \t{p}\t0.{n}s", "FAIL\t{p}\t0.1s", "PASS", "panic: {s}",
    "--- PASS: a  (b)", "--- PASS: a\t(b)", "--- FAIL: é (é)", "\t--- SKIP: Test{w}/#0{n} (0.01s)",
]

CARGO = [
    "test {w}::{w} ... ok", "test {w} ... FAILED", "test {w} ... ignored", "test {w} - should panic ... ok", "test src/lib.rs - {w} (line {n}) ... ok", "test  {w}\t...  ok", "test {w} ... ok extra", "testx {w} ... ok", "     Running tests/{w}.rs (target/debug/deps/{w})", "   Doc-tests {w}", "test result: ok. {n} passed", "test {w} .... ok", "test {w} ... OK",
    "  test {w} ... ok ",
]

JAVA = [
    "+ mvn test -B -Dtest={w}Test#test{w}", "[INFO] BUILD SUCCESS", "[INFO] BUILD FAILURE", "BUILD SUCCESS ", "BUILD SUCCESSFUL", "-Dtest=", "-Dtest= x -Dtest={w}", "-Dtest={w} -Dtest=", "-Dtest={w} BUILD FAILURE", "   [junit] [PASS] {w}({p})", "[junit] [FAIL] {w}", "[junit]  [ERR]  {w} {w}", "[junit] [PASS]{w}", "[junit][PASS] {w}", "[junit] [SKIP] {w}",
    "{w}.{w}Test > test{w} PASSED", "{w}Test > test{w} FAILED", "{w}Test > test{w}", "PASSED", "FAILED", "> Task :test PASSED", ">x PASSED", "a PASSED", "ab  PASSED", "{w} >  {w}", "{w} > {w} SKIPPED", "warning: {s}", "é > b PASSED", "> > >", "a > b c", "xPASSED", " PASSED ", "{w} >> {w}", "A  >  B",
]

PHP = [
    "{w} {w} (Tests\\{w}\\{w}Test)", " ✔ {s}", " ✘ {s}", " ↩ {s}", "✔{w}", " ✔  {s}  ", "a (b)", "ab (c)", "é{w} (x)", "-{w} (x)", "ab ()", "ab (c) ", "{w} (a) (b)", "²x (y)", "   │", "OK ({n} tests, {n} assertions)", "\u3000✔ {w}", "✘", "_x (y)", "ab (c)d (e)",
]

RUBY = [
    "{w}Test#test_{w}. = 0.0{n} s = .", "{w}#test_{w}. = 1.{n} s = F", "{w}Test#test_{w}. = 0.00 s = E", "{w}#t. = 0 s = S", "A. b. c = . =", ". = .", "a. =.", "a. b=c. d=F=", "x.y = .", "Feature: {w} ...", "features/{w}.feature {w} ...F", "{w} .", "{w} ..", " .F", "{w} .F {w} ..", "{w} ...F.. x",
    "test: {w} {s}: .: ({n}.0)", "test: {w}:\t F", "  test_{w}: E: (0.1)", "test_{w}: O", "test_{w}: Ex", "test: .", "test: : .", "a: b: F x", "{w}:.", "{w}:  .", "test: test: a: E", "x: E_", "x: Fé", "x: F-",
    "{w} {w} - passed", "{w} - failed", " - passed", "{w} - pending", "a - passed - failed", "{w} - passedx", "a - failed b - passed", "{n} runs, {n} assertions", "a - failed - pending", "-  - failed",
]

FAMILIES = {
    "pytest": (PYTEST, ["pytest", "astroid", "flask", "marshmallow", "pvlib", "pyvista", "sqlfluff", "xarray", "pytest_options", "pydicom", "requests", "pylint", "matplotlib", "pytest_v2", "astropy", "scikit", "sphinx", "seaborn"]),
    "django": (DJANGO, ["django"]),
    "sympy": (SYMPY, ["sympy"]),
    "jest": (JEST, ["jest", "jest_json", "calypso", "immutable_js", "react_pdf", "carbon", "grommet"]),
    "vitest": (VITEST, ["vitest"]),
    "karma": (KARMA, ["karma", "next"]),
    "tap": (TAP, ["tap"]),
    "chart": (CHART, ["chart_js", "bpmn_js", "openlayers", "eslint"]),
    "marked": (MARKED, ["marked"]),
    "p5js": (P5JS, ["p5js"]),
    "mocha": (MOCHA, ["highlightjs"]),
    "lighthouse": (MOCHA + MOCHA_JSON + JEST[:3] + JEST[-16:], ["lighthouse"]),
    "mocha_json": (MOCHA_JSON, ["prismjs"]),
    "quarto": (QUARTO, ["quarto_cli"]),
    "redis": (REDIS, ["redis", "jq", "micropython_test", "googletest"]),
    "doctest": (DOCTEST, ["doctest"]),
    "go": (GO, ["gotest"]),
    "cargo": (CARGO, ["cargo"]),
    "java": (JAVA, ["maven", "ant", "gradle_custom"]),
    "php": (PHP, ["phpunit"]),
    "ruby": (RUBY, ["minitest", "cucumber", "ruby_unit", "rspec_transformed_json", "jekyll"]),
}

# What some parsers choose their rules by: pairs of instance id and version.
VARIANTS = {
    "multi_swe_express": [("o__r-1", ""), ("o__r-4212", "")],
    "multi_swe_zstd": [("o__r-1", ""), ("o__r-2000", ""), ("o__r-1300", "")],
    "immutable_js": [("o__r-2006", ""), ("o__r-2005", ""), ("o__r-1", "")],
    "jekyll": [("jekyll__jekyll-9141", ""), ("jekyll__jekyll-8761", ""), ("jekyll__jekyll-1", "")],
    "next": [("o__r-1", "1.27"), ("o__r-1", "1.20")],
    "lighthouse": [("o__r-1", "9.5"), ("o__r-1", "10.2"), ("o__r-1", "5.0"), ("o__r-1", "2.9"), ("o__r-1", "x")],
}

COUNTED = [
    "Chrome {n}.0: Executed {n} of {n} SUCCESS ({n} secs)", "Executed {n} of {n} ({n} FAILED)", "Executed {n} of {n} ({n} skipped)", "Executed {n} of {n} ({n} skipped) SUCCESS", "Executed\t{n} of \u0663 SUCCESS", "TOTAL: {n} SUCCESS",
    "{n} specs, {n} failures", "{n} spec, {n} failure, {n} pending spec", "x {n} specs, {n} failures, {n} pending specs y", "{n} specs,  \u0663 failures", "OK ({n})", "OK ({n}", "FAILURES!!!", "Tests run: {n},  Failures: {n}", "FAILURES!!! Tests run: {n},\nFailures: {n}",
    "  {n} passing ({n}s)", "  {n} failing", "{n} \npassing", "Tasks:    {n} successful, {n} total", "Tasks: {n} successful,\n{n} total", "{w}:test: {s}", "  {w}:test:unit : {w}", "{w}:test ERROR: {s}", "{w}:build: {s}", "{w}test:x ERROR", "a:test:ERROR b", ":test: x", "ERROR: test",
]
CTEST = [
    " {n}/{n} Test #{n}: {w} .......   Passed  {n}.{n} sec", "{n}/{n} Test #{n}: {w}-{w}/x.y ....***Failed  0.1 sec", "{n}/{n} test  #{n}:  {w} . failed", "{n}/{n} Test #{n}: {w}\n .. Passed", "1/2 Test #1: a.. Passed", "1/2 Test #1: a.b ... paSSed", "1/2 Test #1: {w} .. Pa\u017f\u017fed",
    "The following tests FAILED:", "\t {n} - {w} (Failed)", "  {n} - {w}-{w} (Timeout)", "\n  {n} - {w}", "{n}% tests passed, {n} tests failed out of {n}", "{n}%\ttests passed,\n{n} tests failed out of {n}", "The following tests FAILED:\n\t{n} - {w} (Failed)\x0b\t{n} - {w}\n", "    Start {n}: {w}", "Total Test time (real) = {n} sec",
]
GTEST = [
    "[       OK ] {w}.{w} ({n} ms)", "[  FAILED  ] {w}.{w} ({n} ms)", "[  FAILED  ] {w}.{w}", "[  FAILED  ] {w}.{w}, where x", "[  SKIPPED ] {w}/{n}.{w} ({n} ms)", "[ DISABLED ] {w}::{w}", "[  PASSED  ] {n} tests.", "[  PASSED  ] 1 test.", "[  FAILED  ] {n} tests, listed below:", "[  FAILED  ] {n}", "[OK] {w}", "[ OK ]x", "[ OK ] {n}", "[ PASSED ] {w} {n} tests,",
    "[==========] {n} tests from {n} test suites ran. ({n} ms total)", "[==========]{n} test from", "{n}: [       OK ] {w}.{w}", "[ RUN      ] {w}.{w}", "[ PASSED ] {w}.{w}", "[ FAILED ]\n{w}", "Running {n} tests", "Running {n} test", "[  OK ] \u00b2", "[ OK ] \u0663", "[ OK ] .",
]
CATCH2 = [
    '<TestCase name="{w} {w}" tags="[x]" filename="{p}">', '<OverallResult success="true" durationInSeconds="{n}"/>', '<OverallResult success="false"/>', "</TestCase>", '<TestCase  name="{s}"><OverallResult  success="true"/></TestCase>', '<TestCase name=""><OverallResult success="true"/>',
    "{w} {w} ... PASSED", "{w}... failed", "{w} {w}  ...\tPassed", "{n}: {w} ... PASSED", "[{w}] ... PASSED", " ... PASSED", "a.b ... PASSED", "{w}\n... PASSED", "{w} ... pa\u017f\u017fed", "test cases: {n} | {n} passed | {n} failed", "Test cases:{n}|{n} passed |  {n} failed", "All tests passed ({n} assertions in {n} test cases)", "All tests passed (in 1 test case)", "all tests passed()",
    "All tests passed ({n} assertion in\n{n} test cases)",
]
BOOST = [
    'x.cpp({n}): error: in "{w}/{w}": check {w} has failed', 'error in "{w}/{w}": {s}', 'fatal error "{w}"', 'ERROR  in  "{w}"', 'x.cpp({n}): Entering test case "{w}"', 'Entering test suite "{w}"', 'Leaving test case "{w}"', "*** No errors detected", "{n} test cases out of {n} passed", "{n} test case passed", "{n}  test cases  passed", "*** {n} failures detected", "*** {n} failure detected in {w}", 'error "{w}', 'error in"{w}"', 'Entering test case ""',
]
MAVEN = [
    "[INFO] {w}.{w} -- Time elapsed: 0.{n} s", "[ERROR] {w} -- Time elapsed: {n}.0 s <<< FAILURE!", "[ERROR] {w} -- Time elapsed: 1 s <<< ERROR!", "[WARNING] {w} -- Time elapsed: 1 s", "[INFO]   -- Time elapsed: 1 s", "[INFO] {s} -- x -- Time elapsed: {n} s -- in {w}", "[INFO] Tests run: {n}, Failures: 0, Time elapsed: {n} s -- in {w}", "{w}({w}.{w})  Time elapsed: {n} sec", "test_1(a.B)  Time elapsed: 0.01 sec  <<< FAILURE!",
    "testA(a.b.C) Time elapsed: \u0663 sec", "test(a.B)Time elapsed: 1 sec", "  [ERROR] {w} -- Time elapsed: 1 s <<< FAILURE!  ", "[INFO] {w}  --  Time elapsed: {n}", "[INFO] {w} --  Time elapsed:  {n} s", "[x (Time elapsed: 1 sec", "a(b)  Time elapsed: . sec",
]
JUNIT = [
    '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="{w}" tests="{n}">', '  <testcase name="{w}" classname="{w}.{w}" time="0.{n}"/>', '  <testcase name="{w}()" classname="{w}"><failure message="{w}">x</failure></testcase>', '<testcase name="{w}"><error/></testcase>', '<testcase name="{w}" classname="a"><skipped/></testcase>', "<testcase/>", '<testcase classname="a" name="b"><x><failure/></x></testcase>', "</testsuite>",
    '<?xml version="1.0"?><testsuite name="a"><testcase name="{w}"/></testsuite>', '<?xml version="1.0"?><testsuites><testsuite name="a"></testsuite></testsuites>', '<?xml version="1.0"?><testsuite><properties/><testcase name="a &lt; {w}" classname="b"><system-out><![CDATA[{s}]]></system-out></testcase></testsuite>', '<?xml version="1.0"?><testsuite xmlns="u"><testcase name="a"/></testsuite>', "<testcase name='x' name='y'/>", "{s}", "&nope;",
]
NODE = [
    "✔ {s} ({n}.{n}ms)", "  ✖ {s} ({n}ms)", "▶ {w}", "✔ {w} ({n}ms) # SKIP", "✖ {w} (1ms) (2ms)", "✔  (1ms)", "✔ {w}(1ms)", "✔ {w} (\u0663ms)", "  ✓ {s} {n}ms", "✗ {s} {n}ms", "✗ {s}", "✖ {s} {n}ms", "✓ {w}", "✓ ", "✓ {w} {n}ms {w} {n}ms x", "✗ {w}  {n}ms", "✓  {n}ms", "\u3000✓ {w}", "- {s}", "  - {w} ({n}ms)", "  {n}) {s}", "{n}) {w} ({n}ms)", "{n}){w}", "{n})  ({n}ms)", "✔ {s}", "✓ {w} ({n} s)", "✖ {w} ({n}ms)",
    " ❯ {p} ({n} tests | {n} failed) {n}ms", " ✓ {p} ({n} tests) {n}ms", "✓  {w} (", "✓ (a) b", "❯ {w}", "○ {w} ({n}ms)", "✗ {w}({n})", "↓ {p}", "✓\t{p}  ({n}ms)", "❯ ",
]
LISTS = [
    "FAIL\t{p}\t0.1s", "FAIL: {w} x", "FAIL {w} [build failed]", "FAIL", "FAIL  x", "FAIL:  {w} {w}", "FAILx y", "--- PASS: Test{w} (0.0s)", "--- FAIL: Test{w}", "    --- SKIP: Test{w}/{w} (0.1s)", "--- PASS:  x", "ok  \t{p}", "test {w}::{w} ... ok", "test {w} ... FAILED", "test {w} - should panic ... ok", "test src/lib.rs - {w} (line {n}) ... ok", "{w} ... ok ... FAILED", "test test {w} ... ok", "x... ok", "... FAILED", "test {w} ... ignored",
    "test a ... ok\x0btest b ... ok\u2028test c ... FAILED", "Passed {w}.{w} [{n} ms]", "  Failed {w}", "Skipped {w} x", "Passed", "Passed!  - Failed: {n}", "Failedx {w}", " ✔ {s}", "✔", "✘{w}", "  ↩  {s} ", "✔   ", "✘ ", "PassedA",
]
SMITH_PYTHON = PYTEST + ["{w} ... ok", "test_{w} ({w}.T) ... ok", "test_{w} ({w}.T) ... skipped '{s}'", "FAIL: test_{w} ({w}.T) x", "ERROR: {w}", "FAIL:", "test_{w} (a) ... FAIL", "test {w} ... ERROR", "[gw1] PASSED {p}::{w}", "[gw12] PASSED x", "[gw\u0663] FAILED {w}", "[gw1]\tERROR\t{w}"]

SMITH = {
    **{name: SMITH_PYTHON for name in ["swe_smith", "swe_smith_autograd", "swe_smith_mypy", "swe_smith_paramiko", "swe_smith_slugify", "swe_smith_tornado"]},
    **{name: COUNTED for name in ["swe_smith_karma", "swe_smith_jasmine", "swe_smith_cppunit", "swe_smith_turbo"]},
    "swe_smith_mocha_totals": COUNTED + NODE[18:27],
    "swe_smith_ctest": CTEST,
    **{name: GTEST for name in ["swe_smith_googletest", "swe_smith_airsim"]},
    "swe_smith_catch2": CATCH2,
    "swe_smith_boost": BOOST,
    "swe_smith_surefire": MAVEN,
    "swe_smith_junit": JUNIT,
    "swe_smith_jest": JEST,
    **{name: NODE for name in ["swe_smith_node", "swe_smith_react_pdf", "swe_smith_mocha", "swe_smith_vitest"]},
    **{name: LISTS for name in ["swe_smith_gotest", "swe_smith_cargo", "swe_smith_dotnet", "swe_smith_phpunit"]},
    "jq": REDIS,
    "redis": REDIS,
}

MULTI_LISTS = [
    "PASS: tests/{w}", "FAIL: {w}", "SKIP: {w}", "PASS: {w} {w}", " PASS: {w} ", "PASS: all POOL tests", "make[1]: Leaving directory '/home/zstd/doc/educational_decoder'",
    "[       OK ] {w}.{w} ({n} ms)", "[  FAILED  ] {w}.{w} ({n} ms)", "[  FAILED  ] {w}.{w}", "\x1b[0;32m[       OK ] \x1b[0m{w} ({n} ms)", "\x1b[0;31m[  FAILED  ] \x1b[0m{w}", "\x1b[92m---- Passed: {w}\x1b[0m", "\x1b[91m**** FAILED: {w}\x1b[0m",
    "[       OK ] {w} x", " {n}/{n} Test #{n}: {w} ....   Passed   0.1 sec", "{n}/{n} Test  #{n}: {w} .....***Failed", "{n}/{n} Test #{n}: {w} .....***Failed  0.1 sec", "1/2 Test#1:{w}.Passed", "-- Performing Test {w} - Success", "-- Performing test {w} - Failed", "-- Performing Test HAVE_É - skipped",
    "test {w}::{w} ... ok", "test {w} ... FAILED", "test {w} ... ignored, why", "test {w} xxx ok", "test src/lib.rs - {w} (line {n}) ... ok",
    "✔ {s} ({n}ms)", "✔ {s}", "{n}) {s}", "{n}) {w} (.{n} s)", "✔ {w} (ms)", "✓ {p} > {w} {n}ms", "× {p} > {w} {n}.{n} s", "✓ {w} 5m", "✓ {w} ({n} tests) {n}ms", "✓ {p} ({n})", "PASS {p} ({n}.{n} s)", "FAIL {p}", "FAIL {p} ({n} x)", "✓ {n}",
]
MULTI_JEST = ["PASS {p}.test.js ({n}.{n} s)", "FAIL {p}.test.js", "PASS {w} {w} ({n} s)", "PASS  {p}", "  ✓ {s} ({n} ms)", "  ✓ {s}", "✕ {s} (.{n}s)", "✕ {w}  (a) (b)", "✓ {w}(x)", "PASS {w}(y)", "FAIL {p} (z) (w)", "● {s}", "✓", "PASS"]
MULTI_GRADLE = ["> Task :{w}:test", "> Task :{w}:test UP-TO-DATE", "> Task :{w} FROM-CACHE", "> Task :{w}:test FAILED", "> Task :{w} SKIPPED", "> Task :{w} NO-SOURCE", "{w} > {w} PASSED", "{w} > {w} FAILED", "{w} > {w} SKIPPED", "  {w} > {w} > {w} PASSED", "a > b PASSED", "a > b FAILED", "a > b SKIPPED", "> Task :a", "> Task :a FAILED", "> Task :a SKIPPED"]
MULTI_GO = GO + ["FAIL\t{p}\t0.1s", "FAIL: {w} x", "--- PASS: TestA (0s)", "--- FAIL: TestA (0s)", "--- SKIP: TestA (0s)", "    --- FAIL: TestA/{w} (0s)", "    --- PASS: TestA/b", "--- SKIP: TestA/b x", "FAIL TestA y"]
MULTI_MAVEN = ["[INFO] Tests run: {n}, Failures: 0, Errors: 0, Skipped: {n}, Time elapsed: {n}.{n} s - in {w}.{w}Test", "Tests run: {n}, Failures: {n}, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! - in {w}", "Tests run: 0, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0 s -- in {w}", "\x1b[1;32mTests run: \x1b[0m2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s \x1b[m- in {w}\x1b[0;1m", "Tests run: {n}, Failures: 0, Errors: 0, Skipped: 0", "Tests run: 2, Failures: 0, Errors: 1, Skipped: 0, Time elapsed: 1 s x in a in {w}", "\x1b[3;J", "Tests run: \u0663, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s in \u0663"]
MULTI_GSON = ["Running {w}.{w}Test", "Running {w}\nTests run: {n}, Failures: 0, Errors: 0, Skipped: {n}, Time elapsed: 0.{n} sec", "Running {w}\nTests run: {n}, Failures: {n}, Errors: 0, Skipped: 0, Time elapsed: 0.1 sec  <<< FAILURE!", "Tests run: {n}, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 sec", "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0", "Running  {w}  \n\n{s}\nTests run:2,Failures:0,Errors:0,Skipped:0,Time elapsed:1sec", "Running", "Running \n {w}", "xRunning {w}", "Results :", "Running Running {w}"]
_TEST = '{"title": "{w}", "fullTitle": "{w} {s}", "file": "/{p}", "duration": {n}, "currentRetry": 0, "err": {}}'
_STATS = '"stats": {"suites": 1, "tests": 2, "passes": 1, "pending": 0, "failures": 1, "start": "a", "end": "b", "duration": 3}, "tests": []'
MULTI_JSON = ["{" + _STATS + ', "pending": [], "failures": [' + _TEST + '], "passes": [' + _TEST + ", " + _TEST + "]}", "{" + _STATS + ', "pending": [' + _TEST + '],\n "failures": [],\n "passes": []}', "====", "Writing {p}", "Building new {w}", "error Command failed with exit code {n}.", "{", "}", '{"a": 1}', "{w}: {x}", "  ✔ {s}", "{n}) {s}"]

MULTI = {
    **{f"multi_swe_{name}": MULTI_LISTS for name in ["automake", "cargo", "catch2", "ctest", "googletest", "insomnia", "mocha", "vitest", "zstd"]},
    **{f"multi_swe_{name}": MULTI_JEST for name in ["darkreader", "jest"]},
    **{f"multi_swe_{name}": MULTI_GRADLE for name in ["gradle", "jib"]},
    **{f"multi_swe_{name}": MULTI_GO for name in ["gotest", "gotest_bases"]},
    **{f"multi_swe_{name}": MULTI_MAVEN for name in ["surefire", "surefire_plain"]},
    "multi_swe_gson": MULTI_GSON,
    **{f"multi_swe_{name}": MULTI_JSON for name in ["express", "mui"]},
}
