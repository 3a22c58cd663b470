//! Test runners of JavaScript projects.

pub(super) mod bpmn_js;
pub(super) mod calypso;
pub(super) mod chart_js;
pub(super) mod eslint;
pub(super) mod failures;
pub(super) mod grommet;
pub(super) mod highlight;
pub(super) mod immutable;
pub(super) mod jest;
pub(super) mod jest_files;
pub(super) mod karma;
pub(super) mod lighthouse;
pub(super) mod marked;
mod mocha_json;
pub(super) mod next;
pub(super) mod openlayers;
pub(super) mod p5js;
mod p5js_blocks;
pub(super) mod prism;
pub(super) mod quarto;
pub(super) mod vitest;
