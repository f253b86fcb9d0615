//! Tests of the sled engine that need to look inside.

use super::testing::SledFactory;
use crate::suite;

#[test]
fn conformance() {
    let root = tempfile::tempdir().expect("a directory");
    suite::run(&mut |name| Box::new(SledFactory::new(&root.path().join(name))));
}
