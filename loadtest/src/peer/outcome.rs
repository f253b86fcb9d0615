//! From runs to a comparison: one cell for each run, and from the cells of all rounds the ratio at
//! each number of connections and to the peer's best. No ratio is told when any answer was wrong.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::drive::{Load, Measured};
use super::keys::Draw;
use super::server::{Form, Server};
use crate::report::{
    self, Cpu, Document, Faults, Latency, Loop, Peer, Run, Second, Spread, Throughput,
};

/// Interlock's name in this comparison.
const OURS: &str = "Interlock";

/// One run of one server in one round.
#[derive(Debug)]
pub(crate) struct Cell {
    /// `None` is Interlock; a peer by its place, with how it was asked.
    side: Option<(usize, Form)>,
    round: u32,
    connections: u64,
    rate: f64,
    run: Run,
}

/// What is known of a peer beside its figures.
#[derive(Debug)]
pub(crate) struct Known {
    /// Its name with its version.
    pub(crate) name: String,
    /// How it keeps what it answered, and that its rules were proved.
    pub(crate) durability: String,
    /// What its model does not hold.
    pub(crate) differences: Vec<String>,
}

impl Cell {
    /// A run of Interlock.
    pub(crate) fn of_ours(round: u32, connections: u64, mut run: Run) -> Self {
        run.name = name(OURS, connections, round);
        let rate = run.throughput.map_or(0.0, |it| it.per_second);
        if !run.passed() && run.faults.wrong_answers == 0 {
            // No answer, or one with a wrong status, is as wrong as any.
            run.faults.wrong_answers = 1;
        }
        Self {
            side: None,
            round,
            connections,
            rate,
            run,
        }
        .with_throughput()
    }

    /// A run of a peer.
    pub(crate) fn of_peer(
        place: usize,
        server: &dyn Server,
        load: &Load,
        round: u32,
        measured: Measured,
    ) -> Result<Self, String> {
        let counts = measured.counts;
        let title = format!("{}, {}", server.name(), load.form);
        let mut run = blank(name(&title, load.connections, round));
        run.connections = load.connections;
        run.batch = load.draw.batch as f64;
        run.seconds = measured.seconds;
        run.count = counts.checks;
        run.requests = measured.latency.len();
        run.latency = latency(&measured.latency);
        run.over_time = over_time(&measured);
        run.decisions = BTreeMap::from([
            ("allow", counts.allowed),
            ("deny", counts.exhausted + counts.ordered),
        ]);
        run.reasons = BTreeMap::from([
            ("budget_exhausted", counts.exhausted),
            ("effect_in_flight", counts.ordered),
        ]);
        run.ordered_pairs = counts.ordered;
        run.faults = Faults {
            wrong_answers: measured.faults.len() as u64,
            first: measured.faults,
            ..Faults::default()
        };
        if counts.checks == 0 {
            run.faults.wrong_answers += 1;
            run.faults
                .first
                .push("nothing was answered in the measured time".to_owned());
        }
        let each = |seconds: f64| seconds * 1e6 / counts.checks.max(1) as f64;
        let [peer, own] = measured.cpu;
        run.cpu = Cpu {
            generator_us: each(own),
            generator_cores: own / measured.seconds,
            server_us: Some(each(peer)),
            server_cores: Some(peer / measured.seconds),
            machine_cores: None,
        };
        Ok(Self {
            side: Some((place, load.form)),
            round,
            connections: load.connections,
            rate: counts.checks as f64 / measured.seconds,
            run,
        }
        .with_throughput())
    }

    fn with_throughput(mut self) -> Self {
        if self.right() {
            let requests_per_second = self.run.requests as f64 / self.run.seconds;
            self.run.throughput = Some(Throughput {
                per_second: self.rate,
                requests_per_second,
            });
        }
        self
    }

    const fn right(&self) -> bool {
        self.run.faults.wrong_answers == 0
    }

    /// A line of progress.
    pub(crate) fn line(&self) -> String {
        let name = &self.run.name;
        if self.right() {
            format!("{name}: {:.0} checks/s", self.rate)
        } else {
            format!("{name}: {}", self.run.faults.first.join("; "))
        }
    }
}

/// All cells so far.
#[derive(Debug)]
pub(crate) struct Rounds {
    batch: usize,
    cells: Vec<Cell>,
    wrong: Vec<String>,
}

impl Rounds {
    /// None yet.
    pub(crate) const fn new(draw: &Draw) -> Self {
        Self {
            batch: draw.batch,
            cells: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Adds a run.
    pub(crate) fn add(&mut self, cell: Cell) {
        if !cell.right() {
            self.wrong.push(cell.line());
        }
        self.cells.push(cell);
    }

    /// Notes what was wrong with more than one answer.
    pub(crate) fn wrong(&mut self, words: String) {
        self.wrong.push(words);
    }

    /// Whether every answer so far was right.
    pub(crate) const fn right(&self) -> bool {
        self.wrong.is_empty()
    }

    /// Tells what it comes to.
    pub(crate) fn tell(self, known: &[Known], document: &mut Document) {
        let passed = self.right();
        document.words.extend(self.wrong.clone());
        if passed {
            for (place, known) in known.iter().enumerate() {
                let of_peer = self.peers(place, known);
                document.words.extend(sentences(known, &of_peer));
                document.peers.extend(of_peer);
            }
        } else {
            let words = "no throughput is told, since an answer was wrong";
            document.words.push(words.to_owned());
        }
        let mut runs: Vec<Run> = self.cells.into_iter().map(|cell| cell.run).collect();
        if !passed {
            runs.iter_mut().for_each(|run| run.throughput = None);
        }
        document.runs.extend(runs);
    }

    /// The comparisons with one peer, for each form and number of connections.
    fn peers(&self, place: usize, known: &Known) -> Vec<Peer> {
        let mut pairs: Vec<(Form, u64)> = Vec::new();
        for cell in &self.cells {
            if let Some((_, form)) = cell.side.filter(|side| side.0 == place)
                && !pairs.contains(&(form, cell.connections))
            {
                pairs.push((form, cell.connections));
            }
        }
        // By form, as the server names them.
        let forms: Vec<Form> = pairs.iter().map(|pair| pair.0).collect();
        pairs.sort_by_key(|pair| forms.iter().position(|form| *form == pair.0));
        let compare = |(form, connections)| self.peer(place, form, connections, known);
        pairs.into_iter().map(compare).collect()
    }

    fn peer(&self, place: usize, form: Form, connections: u64, known: &Known) -> Peer {
        let of = |side: Option<(usize, Form)>| {
            let mut cells: Vec<&Cell> = Vec::new();
            cells.extend(
                self.cells
                    .iter()
                    .filter(|cell| cell.side == side && cell.connections == connections),
            );
            cells
        };
        let (ours, theirs) = (of(None), of(Some((place, form))));
        let rate = |cells: &[&Cell]| cells.iter().map(|cell| cell.rate).collect::<Vec<_>>();
        let over = |best: &dyn Fn(u32) -> f64| {
            let ratios: Vec<_> = ours
                .iter()
                .map(|cell| cell.rate / best(cell.round))
                .collect();
            Spread::of(&ratios)
        };
        let same = |round| {
            let cell = theirs.iter().find(|cell| cell.round == round);
            cell.map_or(f64::NAN, |cell| cell.rate)
        };
        let best = |round| {
            let cells = self.cells.iter().filter(|cell| {
                cell.round == round && cell.side.is_some_and(|side| side.0 == place)
            });
            cells.map(|cell| cell.rate).fold(f64::NAN, f64::max)
        };
        let middle = |figure: fn(&Run) -> f64| {
            [&ours, &theirs].map(|cells| {
                let figures: Vec<_> = cells.iter().map(|cell| figure(&cell.run)).collect();
                Spread::of(&figures).median
            })
        };
        let server = [&ours, &theirs].map(|cells| {
            let known = cells.iter().filter_map(|cell| cell.run.cpu.server_us);
            let known: Vec<_> = known.collect();
            (!known.is_empty()).then(|| Spread::of(&known).median)
        });
        Peer {
            peer: known.name.clone(),
            form: form.name(),
            durability: known.durability.clone(),
            connections,
            batch: self.batch,
            ours: rate(&ours),
            theirs: rate(&theirs),
            ratio: over(&same),
            ratio_to_best: over(&best),
            server_us: server,
            generator_us: middle(|run| run.cpu.generator_us),
            p99_ms: middle(|run| run.latency.p99_ms),
            differences: known.differences.clone(),
        }
    }
}

/// The comparison with one peer in sentences: to its best, then at the same connections.
fn sentences(known: &Known, peers: &[Peer]) -> Vec<String> {
    let highest = |peer: &&Peer, other: &&Peer| {
        let medians = [peer, other].map(|it| it.ratio_to_best.median);
        medians[0].total_cmp(&medians[1])
    };
    let Some(best) = peers.iter().max_by(highest) else {
        return Vec::new();
    };
    let Spread { min, median, max } = best.ratio_to_best;
    let mut words = vec![format!(
        "Interlock at {} is {median:.2} times {} at its best ({min:.2} to {max:.2} over {})",
        report::connections(best.connections),
        known.name,
        report::rounds(best.ours.len())
    )];
    let mut forms: Vec<&str> = peers.iter().map(|peer| peer.form).collect();
    forms.dedup();
    for form in forms {
        let at = |peer: &Peer| format!("{:.2} at {}", peer.ratio.median, peer.connections);
        let of = peers.iter().filter(|peer| peer.form == form).map(at);
        let of = of.collect::<Vec<_>>().join(", ");
        words.push(format!(
            "{}, {form}, at as many connections: {of}",
            known.name
        ));
    }
    words
}

fn name(server: &str, connections: u64, round: u32) -> String {
    format!(
        "{server}, {}, round {round}",
        report::connections(connections)
    )
}

fn blank(name: String) -> Run {
    Run {
        name,
        pace: Loop::Closed,
        rate: None,
        unit: "checks",
        connections: 0,
        batch: 0.0,
        about: String::new(),
        seconds: 0.0,
        count: 0,
        undecided: 0,
        requests: 0,
        throughput: None,
        latency: Latency::default(),
        steps: Vec::new(),
        over_time: Vec::new(),
        decisions: BTreeMap::new(),
        reasons: BTreeMap::new(),
        tokens: 0,
        tokens_verified: 0,
        ordered_pairs: 0,
        faults: Faults::default(),
        sent_bytes: 0,
        received_bytes: 0,
        cpu: Cpu::default(),
        server: None,
    }
}

fn latency(histogram: &Histogram<u64>) -> Latency {
    let at = |percentile| histogram.value_at_percentile(percentile) as f64 / 1e6;
    let steps = histogram.iter_quantiles(5);
    let curve = steps.map(|step| {
        (
            step.quantile() * 100.0,
            step.value_iterated_to() as f64 / 1e6,
        )
    });
    Latency {
        count: histogram.len(),
        p50_ms: at(50.0),
        p90_ms: at(90.0),
        p99_ms: at(99.0),
        p999_ms: at(99.9),
        max_ms: histogram.max() as f64 / 1e6,
        curve: curve.collect(),
    }
}

/// Whole seconds only: the last piece of one would look like a fall.
fn over_time(measured: &Measured) -> Vec<Second> {
    let whole = measured.over_time.iter().take(measured.seconds as usize);
    let second = |(at, (checks, latency)): (usize, &(u64, Histogram<u64>))| Second {
        at_s: at as f64 + 1.0,
        per_second: *checks as f64,
        p50_ms: latency.value_at_percentile(50.0) as f64 / 1e6,
        p99_ms: latency.value_at_percentile(99.0) as f64 / 1e6,
        resident_bytes: None,
        disk_bytes: None,
    };
    whole.enumerate().map(second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(side: Option<(usize, Form)>, round: u32, connections: u64, rate: f64) -> Cell {
        let mut run = blank(name("x", connections, round));
        run.seconds = 1.0;
        Cell {
            side,
            round,
            connections,
            rate,
            run,
        }
        .with_throughput()
    }

    fn known() -> [Known; 1] {
        [Known {
            name: "Redis 7".to_owned(),
            durability: String::new(),
            differences: Vec::new(),
        }]
    }

    fn rounds() -> Rounds {
        let mut rounds = Rounds {
            batch: 500,
            cells: Vec::new(),
            wrong: Vec::new(),
        };
        for (round, factor) in [(1, 1.0), (2, 2.0), (3, 4.0)] {
            for (connections, rate) in [(1, 100.0), (4, 200.0)] {
                rounds.add(cell(None, round, connections, rate * factor));
                let side = Some((0, Form::Pipeline));
                rounds.add(cell(side, round, connections, rate / 10.0));
                rounds.add(cell(Some((0, Form::Call)), round, connections, 5.0));
            }
        }
        rounds
    }

    #[test]
    fn ratios_are_of_the_same_round_and_to_the_peers_best() {
        let mut document = Document::default();
        rounds().tell(&known(), &mut document);
        document.judge();
        assert!(document.passed);
        assert_eq!(document.peers.len(), 4);
        let one = document
            .peers
            .iter()
            .find(|it| it.connections == 1 && it.form == "pipeline");
        let one = one.expect("a comparison");
        assert_eq!(one.ours, [100.0, 200.0, 400.0]);
        assert_eq!(one.theirs, [10.0; 3]);
        let spread = |min, median, max| Spread { min, median, max };
        assert_eq!(one.ratio, spread(10.0, 20.0, 40.0));
        assert_eq!(one.ratio_to_best, spread(5.0, 10.0, 20.0));
        let words = document.words.join("\n");
        assert!(
            words.contains("at 4 connections is 20.00 times Redis 7"),
            "{words}"
        );
    }

    #[test]
    fn one_wrong_answer_takes_all_figures() {
        let mut rounds = rounds();
        let mut bad = cell(None, 4, 1, 9.0);
        bad.run.faults.wrong_answers = 1;
        bad.run.faults.first.push("twice".to_owned());
        rounds.add(bad);
        assert!(!rounds.right());
        let mut document = Document::default();
        rounds.tell(&known(), &mut document);
        document.judge();
        assert!(!document.passed && document.peers.is_empty());
        assert!(document.runs.iter().all(|run| run.throughput.is_none()));
        assert!(document.words.join(" ").contains("twice"));
    }

    #[test]
    fn a_budget_that_does_not_balance_takes_them_as_well() {
        let mut rounds = rounds();
        rounds.wrong("Redis 7: customer 3: 4 contacts allowed of 3".to_owned());
        let mut document = Document::default();
        rounds.tell(&known(), &mut document);
        document.judge();
        assert!(!document.passed && document.peers.is_empty());
        assert!(document.words.join(" ").contains("4 contacts allowed of 3"));
    }
}
