//! Power cuts: the database file as of our last sync, everything else lost.

use crate::sled::testing::SledFactory;
use crate::suite::walk::walk;

#[test]
fn nothing_acknowledged_is_lost_in_a_power_cut() {
    for seed in [1, 2, 3] {
        let root = tempfile::tempdir().expect("a directory");
        let mut factory = SledFactory::new(root.path());
        walk(&mut factory, seed, 400);
        let syncs = factory.model().expect("it has one").syncs();
        assert!(syncs > 250, "the model saw {syncs} syncs");
    }
}
