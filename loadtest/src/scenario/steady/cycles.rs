//! What a server's standings over time come to: the cycles of snapshots and truncation among them, and
//! how flat its memory was.

use crate::findings::{Standing, Steady};

/// Snapshots of a cycle: one of each partition of the group that the load's space lies in
/// (`ARCHITECTURE.md`). Under load none is left out.
const ROUND: u64 = 256;

/// Cycles, purges and memory of standings in the order of time.
pub(super) fn found(standings: &[Standing]) -> Steady {
    let cycles = cycles(standings);
    let ratios = cycles.iter().map(Standing::disk_ratio);
    let disk_ratio = ratios.fold(0.0, f64::max);
    let quarter = standings.len() / 4;
    // The first quarter may still fill what the others reuse.
    let settled: Vec<f64> = standings[quarter..]
        .iter()
        .map(|it| it.resident_bytes as f64)
        .collect();
    let (first, last) = (
        mean(&settled[..quarter.min(settled.len())]),
        mean(&settled[settled.len() - quarter.min(settled.len())..]),
    );
    let low = settled.iter().copied().fold(f64::INFINITY, f64::min);
    let high = settled.iter().copied().fold(0.0, f64::max);
    let purged = match standings {
        [first, .., last] => last.purged.saturating_sub(first.purged),
        _ => 0,
    };
    Steady {
        disk_ratio,
        resident_drift: if first > 0.0 {
            (last - first) / first
        } else {
            0.0
        },
        resident_range: if high > 0.0 {
            (high - low) / mean(&settled)
        } else {
            0.0
        },
        purged,
        cycles,
        ..Steady::default()
    }
}

/// The standings at which each partition had been snapshotted once more, and the journal cut by what
/// that covers.
fn cycles(standings: &[Standing]) -> Vec<Standing> {
    let mut begun = standings.first().map_or(0, |first| first.snapshots);
    let mut cycles = Vec::new();
    for standing in standings {
        if standing.snapshots >= begun + ROUND {
            cycles.push(*standing);
            begun = standing.snapshots;
        }
    }
    cycles
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(at: u64, snapshots: u64, resident: u64) -> Standing {
        Standing {
            at_s: at as f64,
            live_bytes: 100,
            log_bytes: 100 * at,
            resident_bytes: resident,
            snapshots,
            purged: 10 * at,
            ..Standing::default()
        }
    }

    #[test]
    fn a_cycle_is_over_when_each_partition_has_another_snapshot() {
        let rounds = [5, 40, 80, 90, 105, 110, 150, 190, 206, 290];
        let standings: Vec<_> = (0..)
            .zip(rounds)
            .map(|(at, hundredths)| standing(at, hundredths * ROUND / 100, 1000))
            .collect();
        let steady = found(&standings);
        let at: Vec<f64> = steady.cycles.iter().map(|it| it.at_s).collect();
        assert_eq!(at, [4.0, 8.0]);
        assert!((steady.disk_ratio - 8.0).abs() < 1e-9, "{steady:?}");
        assert_eq!(steady.purged, 90);
        assert!(steady.resident_range.abs() < 1e-9 && steady.resident_drift.abs() < 1e-9);
        assert!(cycles(&[standing(0, 1, 1), standing(1, ROUND, 1)]).is_empty());
    }

    #[test]
    fn memory_that_grows_drifts() {
        let standings: Vec<_> = (0..8).map(|at| standing(at, 0, 1000 + 100 * at)).collect();
        let steady = found(&standings);
        // From a mean of 1250 in the second quarter to one of 1650 in the last.
        assert!((steady.resident_drift - 0.32).abs() < 1e-9, "{steady:?}");
        assert!(
            (steady.resident_range - 500.0 / 1450.0).abs() < 1e-9,
            "{steady:?}"
        );
        assert_eq!(found(&[]), Steady::default());
    }
}
