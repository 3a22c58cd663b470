//! `configs/repositories/`.

use std::sync::LazyLock;

use super::file::RulesFile;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$((concat!("built-in:", $name), include_str!(concat!("../../../../configs/repositories/", $name)))),*]
    };
}

pub(super) const SOURCES: &[(&str, &str)] = &files![
    "astroid.toml",
    "astropy.toml",
    "bokeh.toml",
    "conan.toml",
    "dask.toml",
    "django.toml",
    "dvc.toml",
    "flask.toml",
    "hydra.toml",
    "marshmallow.toml",
    "matplotlib.toml",
    "modin.toml",
    "monai.toml",
    "moto.toml",
    "mypy.toml",
    "pandas.toml",
    "pvlib-python.toml",
    "pydantic.toml",
    "pydicom.toml",
    "pylint.toml",
    "pytest.toml",
    "pyvista.toml",
    "r2e-gym.toml",
    "requests.toml",
    "scikit-learn.toml",
    "seaborn.toml",
    "sphinx.toml",
    "sqlfluff.toml",
    "swe-bench-c.toml",
    "swe-bench-go.toml",
    "swe-bench-java.toml",
    "swe-bench-javascript.toml",
    "swe-bench-php.toml",
    "swe-bench-ruby.toml",
    "swe-bench-rust.toml",
    "swe-smith-cpp.toml",
    "swe-smith-go.toml",
    "swe-smith-java.toml",
    "swe-smith-javascript.toml",
    "swe-smith-php-csharp.toml",
    "swe-smith-python.toml",
    "swe-smith-rust.toml",
    "swe-smith-typescript.toml",
    "sympy.toml",
    "xarray.toml",
    // The first that is for a repository counts.
    "multi-swe-bench.toml",
    "swe-smith.toml",
];

static BUILT_IN: LazyLock<Vec<RulesFile>> = LazyLock::new(|| {
    // They are built in, and a test reads each.
    let read = SOURCES
        .iter()
        .map(|(name, text)| RulesFile::read(name, text));
    read.filter_map(Result::ok).flatten().collect()
});

pub(super) fn files() -> &'static [RulesFile] {
    &BUILT_IN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_rules_are_read() {
        for (name, text) in SOURCES {
            let rules = RulesFile::read(name, text).unwrap_or_else(|error| panic!("{error:?}"));
            let parsers = rules.iter().try_for_each(RulesFile::check_parsers);
            parsers.unwrap_or_else(|error| panic!("{error:?}"));
        }
    }

    #[test]
    fn every_file_of_rules_is_built_in() {
        let directory =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/repositories");
        let mut there: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| format!("built-in:{}", entry.unwrap().file_name().to_string_lossy()))
            .collect();
        there.sort();
        let mut built_in: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        built_in.sort_unstable();
        assert_eq!(there, built_in);
    }
}
