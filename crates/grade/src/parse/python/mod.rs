//! Test runners of Python projects.

pub(super) mod django;
pub(super) mod pytest;
mod pytest_names;
pub(super) mod pytest_v2;
pub(super) mod seaborn;
pub(super) mod sympy;
