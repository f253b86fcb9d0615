//! The bundled load harness.
fn main() {}
