//! Every edge of the transition table, and what holds whatever comes in.

mod edges;
mod ends;
mod fold;
mod rig;
