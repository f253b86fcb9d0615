//! The targets: what each is about, what is to be kept, and the command of the harness that measures
//! it. Two cores, the load on them too.

use crate::shell::Outcome;

/// How long a usual run is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length {
    pub(super) seconds: f64,
    pub(super) quick: bool,
}

/// One target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) id: &'static str,
    pub(super) what: &'static str,
    pub(super) target: &'static str,
    /// The harness's words; `{s}` stands for the measured seconds.
    words: &'static str,
    /// The same when everything is to be short.
    quick: &'static str,
    /// Runs of the usual length, and seconds beside them.
    takes: (f64, f64),
    /// Whether its chart is shown.
    pub(super) draws: bool,
}

/// What a run takes beside its measured seconds: a server's start, a warm-up.
const AROUND_S: f64 = 2.0;
/// What a target takes when everything is short.
const QUICK_S: f64 = 8.0;

impl Target {
    /// The words of its command.
    pub(super) fn words(&self, length: Length) -> String {
        let words = if length.quick { self.quick } else { self.words };
        words.replace("{s}", &length.seconds.to_string())
    }

    /// About how long it takes.
    pub(super) fn takes_s(&self, length: Length) -> f64 {
        if length.quick {
            return QUICK_S;
        }
        let (runs, beside_s) = self.takes;
        runs * (length.seconds + AROUND_S) + beside_s
    }
}

/// The targets with these ids, in their order; `T1` also means `T1b`. Without ids all.
pub(super) fn chosen(only: &[String]) -> Outcome<Vec<Target>> {
    let named = |target: &Target, id: &str| {
        let rest = target.id.strip_prefix(id);
        rest.is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_lowercase()))
    };
    let id = |id: &String| id.replacen('t', "T", 1);
    if let Some(unknown) = only
        .iter()
        .find(|wanted| !ALL.iter().any(|target| named(target, &id(wanted))))
    {
        let ids: Vec<&str> = ALL.iter().map(|target| target.id).collect();
        return Err(format!(
            "there is no target {unknown}; they are {}",
            ids.join(", ")
        ));
    }
    let wanted =
        |target: &&Target| only.is_empty() || only.iter().any(|wanted| named(target, &id(wanted)));
    Ok(ALL.iter().filter(wanted).copied().collect())
}

/// All of them, in the order in which they are measured.
pub(super) const ALL: [Target; 15] = [
    Target {
        id: "T1",
        what: "batches of 500 at 4 connections, a million customers, beside Redis that syncs",
        target: "400,000/s; 5 times Redis (wished for: 5 times its best)",
        words: "peer --spawn --peer redis --at 4,16 --rounds 3 --seconds {s}",
        quick: "peer --spawn --peer redis --at 4 --rounds 1 --seconds 0.5 --warm-up 0.2",
        takes: (18.0, 2.0),
        draws: false,
    },
    Target {
        id: "T1b",
        what: "the same at 2 shards, as a share of 1 shard",
        target: "80 %",
        words: "shards --spawn --list 1,2,4 --seconds {s}",
        quick: "shards --spawn --list 1,2 --seconds 0.5 --warm-up 0.2",
        takes: (3.0, 2.0),
        draws: true,
    },
    Target {
        id: "T2",
        what: "the same with a token for each allow, over what one core signs",
        target: "110 %",
        words: "tokens --spawn --closed --seconds {s}",
        quick: "tokens --spawn --closed --seconds 0.5 --warm-up 0.2",
        takes: (1.0, 2.0),
        draws: false,
    },
    Target {
        id: "T3",
        what: "single checks, open loop at 5,000/s for 60 s",
        target: "p50 0.8 ms, p99 3 ms, p99.9 15 ms, no error",
        words: "single --spawn --rate 5000 --seconds 60",
        quick: "single --spawn --rate 500 --seconds 0.5 --warm-up 0.2",
        takes: (0.0, 63.0),
        draws: false,
    },
    Target {
        id: "T3b",
        what: "single checks, as many as go at 16 connections, beside Redis without pipelining",
        target: "wished for: as many as Redis",
        words: "peer --spawn --peer redis --batch 1 --at 16 --rounds 3 --seconds {s}",
        quick: "peer --spawn --peer redis --batch 1 --at 4 --rounds 1 --seconds 0.5 --warm-up 0.2",
        takes: (6.0, 2.0),
        draws: false,
    },
    Target {
        id: "T4",
        what: "server CPU of a check in T1; what reaches the disk",
        target: "4.5 us",
        words: "batch --spawn --closed --disk --seconds {s}",
        quick: "batch --spawn --closed --disk --seconds 0.5 --warm-up 0.2",
        takes: (1.0, 4.0),
        draws: false,
    },
    Target {
        id: "T5",
        what: "resident memory, a contact and a reserved effect of each customer",
        target: "500 MB with 1 million, 3.5 GB with 10 million",
        words: "growth --spawn --fill-only --steps 1000000,10000000",
        quick: "growth --spawn --fill-only --steps 5000,20000",
        takes: (0.0, 90.0),
        draws: false,
    },
    Target {
        id: "T6",
        what: "a start after SIGKILL under T1 from 1 million of each, the journal at its longest",
        target: "ready in 3 s, 1,000,000 entities/s",
        words: "recover --spawn --fill 1000000 --tail",
        quick: "recover --spawn --fill 20000 --tail --set journal.journal_bytes_max=33554432",
        takes: (0.0, 120.0),
        draws: false,
    },
    Target {
        id: "T7",
        what: "T1 at 5 million customers, as a share of 10,000",
        target: "80 %",
        words: "growth --spawn --steps 10000,1000000,5000000 --seconds {s}",
        quick: "growth --spawn --steps 1000,5000 --seconds 0.5 --warm-up 0.2",
        takes: (3.0, 45.0),
        draws: true,
    },
    Target {
        id: "T8",
        what: "20 minutes at half of T1, 2 million entities live at a time and are purged",
        target: "disk 4 times the live state, memory within 5 %, p99 of single checks doubled",
        words: "steady --spawn --seconds 1200 --set snapshots.journal_bytes_soft=134217728",
        quick: "steady --spawn --seconds 4 --rate 4000 --quiet-rate 200 --live 8000 \
                --set journal.journal_bytes_max=4194304 --set snapshots.interval_ms=500",
        takes: (0.0, 1310.0),
        draws: false,
    },
    Target {
        id: "T9",
        what: "one batch of 500 alone",
        target: "p50 2 ms, p99 5 ms",
        words: "batch --spawn --closed --connections 1 --seconds {s}",
        quick: "batch --spawn --closed --connections 1 --seconds 0.5 --warm-up 0.2",
        takes: (1.0, 0.0),
        draws: false,
    },
    Target {
        id: "T10",
        what: "all checks on one customer, or one object, 1 shard, as a share of spread ones",
        target: "50 % each",
        words: "hot --spawn --closed --shards 1 --on spread,customer,object --seconds {s}",
        quick: "hot --spawn --closed --shards 1 --on spread,customer,object --seconds 0.5 \
                --warm-up 0.2",
        takes: (3.0, 0.0),
        draws: false,
    },
    Target {
        id: "T10b",
        what: "the same at 2 shards",
        target: "30,000/s each",
        words: "hot --spawn --closed --shards 2 --on customer,object --seconds {s}",
        quick: "hot --spawn --closed --shards 2 --on customer,object --seconds 0.5 --warm-up 0.2",
        takes: (2.0, 0.0),
        draws: false,
    },
    Target {
        id: "T10c",
        what: "30,000/s on one customer beside 30,000/s spread, 2 shards: p99 of the latter",
        target: "twice that without the former",
        words: "hot --spawn --shards 2 --on half --rate 60000 --rounds 3 --seconds {s}",
        quick: "hot --spawn --shards 2 --on half --rate 4000 --rounds 1 --seconds 0.5 --warm-up 0.2",
        takes: (6.0, 0.0),
        draws: false,
    },
    Target {
        id: "T11",
        what: "single checks of a space beside another space that floods: their p99",
        target: "3 times that without the flood",
        words: "hot --spawn --on space --rounds 3 --seconds {s}",
        quick: "hot --spawn --on space --rounds 1 --seconds 0.5 --warm-up 0.2",
        takes: (6.0, 0.0),
        draws: false,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_chosen_by_their_ids() {
        let ids = |only: &[&str]| -> Outcome<Vec<&str>> {
            let only: Vec<String> = only.iter().map(|id| (*id).to_owned()).collect();
            Ok(chosen(&only)?.iter().map(|target| target.id).collect())
        };
        assert_eq!(ids(&["T1"]), Ok(vec!["T1", "T1b"]));
        assert_eq!(ids(&["t10c", "T3b"]), Ok(vec!["T3b", "T10c"]));
        assert_eq!(ids(&[]).map(|all| all.len()), Ok(ALL.len()));
        let error = ids(&["T99"]).expect_err("unknown");
        assert!(error.contains("T99; they are T1, T1b"), "{error}");
    }

    #[test]
    fn a_command_has_its_seconds_and_one_server() {
        let length = |quick| Length {
            seconds: 7.5,
            quick,
        };
        for target in &ALL {
            for quick in [false, true] {
                let words = target.words(length(quick));
                assert!(!words.contains('{') && !words.contains("  "), "{words}");
                assert_eq!(words.matches("--spawn").count(), 1, "{words}");
            }
            assert!(target.takes_s(length(false)) > 0.0, "{}", target.id);
        }
        assert!(ALL[0].words(length(false)).ends_with("--seconds 7.5"));
    }
}
