//! Fakes that speak wires, for tests only.
