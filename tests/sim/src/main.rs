//! The simulator's command line.
#![expect(clippy::print_stdout, reason = "this is a command line")]
#![expect(
    clippy::disallowed_methods,
    reason = "it measures how fast runs are and bounds how long a failure is shortened"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use interlock_domain::contact::Contact;
use interlock_sim::counters::{Counters, quiet_deliberate_panics};
use interlock_sim::machine::SimMachine;
use interlock_sim::planted::Planted;
use interlock_sim::report::Report;
use interlock_sim::seeds::KEPT;
use interlock_sim::shrink::shrink;
use interlock_sim::swarm::Faults;
use interlock_sim::trace::{Choices, Trace};
use interlock_sim::world::{Failure, Options, follow, run};

/// How long a failure is shortened.
const SHORTEN: Duration = Duration::from_secs(60);

/// Runs seeded simulations; the seed is printed before each run, and a failing one with the command
/// that replays it, the step it fails at and the shortest list of steps found that fails likewise.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// What is simulated
    #[arg(long, value_enum, default_value = "all")]
    machine: Choice,
    /// The first seed; without it one that nobody chose
    #[arg(long)]
    seed: Option<u64>,
    /// Runs, each with the next seed
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Steps of each run
    #[arg(long, default_value_t = 100_000)]
    steps: u64,
    /// Shards of the first process, 1 to 5; without it by seed. Later processes have a number of
    /// their own
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=5))]
    shards: Option<u16>,
    /// What may go wrong: all, none, or some of crash, commit, start, clock, client, full with
    /// commas
    #[arg(long, default_value = "all")]
    faults: Faults,
    /// Runs the seeds that once found something before the others
    #[arg(long)]
    kept: bool,
    /// Replays the steps of a file that a failure was written to, and nothing else
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Runs at once, each on a thread of its own, 1 to 64
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Where the steps of a failure are written
    #[arg(long, value_name = "FOLDER", default_value = "target/sim")]
    out: PathBuf,
    /// Prints how often each case that a model tells apart was seen
    #[arg(long)]
    cases: bool,
}

/// The machines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// Counters and contact
    All,
    /// Pairs of counters that must stay equal
    Counters,
    /// The contact product
    Contact,
    /// Counters with a fault in them, to see it found
    Planted,
}

impl Choice {
    fn of(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    fn machines(self) -> &'static [Self] {
        match self {
            Self::All => &[Self::Counters, Self::Contact],
            Self::Counters => &[Self::Counters],
            Self::Contact => &[Self::Contact],
            Self::Planted => &[Self::Planted],
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    quiet_deliberate_panics();
    if let Some(file) = &arguments.trace {
        return replay(file);
    }
    let runs = runs(&arguments);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let sum = Mutex::new((0_u64, Report::default()));
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed)
                    && let Some((machine, options)) = runs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let Some(report) = any(*machine, options, &arguments) else {
                        failed.store(true, Ordering::Relaxed);
                        return;
                    };
                    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                    sum.0 += 1;
                    sum.1.add(&report);
                }
            });
        }
    });
    let failed = failed.into_inner();
    let (runs, sum) = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    let seconds = start.elapsed().as_secs_f64();
    if arguments.cases {
        println!("{:#?}", sum.seen);
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate for people"
    )]
    let rate = (sum.steps as f64 / seconds.max(0.001)) as u64;
    println!(
        "sim: {} fine: {runs} runs, {} steps in {seconds:.1} s, {rate} steps/s, {} crashes, {} \
         records, {} answers",
        if failed { "NOT" } else { "all" },
        sum.steps,
        sum.crashes,
        sum.records,
        sum.answers
    );
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// What is to be run, in order.
fn runs(arguments: &Arguments) -> Vec<(Choice, Options)> {
    let machines = arguments.machine.machines();
    let mut runs = Vec::new();
    for kept in KEPT.iter().filter(|_| arguments.kept) {
        let machine = Choice::of(kept.machine).filter(|machine| machines.contains(machine));
        runs.extend(machine.map(|machine| (machine, kept.options())));
    }
    let first = arguments.seed.unwrap_or_else(fresh_seed);
    for number in 0..arguments.seeds {
        let seed = first.wrapping_add(number);
        let shards = u16::try_from(seed % 5 + 1).expect("1 to 5");
        let options = Options {
            seed,
            steps: arguments.steps,
            shards: arguments.shards.unwrap_or(shards),
            faults: arguments.faults.clone(),
        };
        runs.extend(machines.iter().map(|&machine| (machine, options.clone())));
    }
    runs
}

fn any(machine: Choice, options: &Options, arguments: &Arguments) -> Option<Report> {
    match machine {
        Choice::Counters => one::<Counters>(options, &arguments.out),
        Choice::Planted => one::<Planted>(options, &arguments.out),
        Choice::Contact | Choice::All => one::<Contact>(options, &arguments.out),
    }
}

/// Runs one seed; nothing when it fails, which was told then.
fn one<M: SimMachine>(options: &Options, out: &Path) -> Option<Report> {
    let name = M::NAME;
    let Options {
        seed,
        steps,
        shards,
        faults,
    } = options;
    println!("{name}: seed {seed}, {steps} steps, {shards} shards at first, faults {faults}");
    let failure = match run::<M>(options, &mut |report| println!("  {report}")) {
        Ok(report) => {
            println!("{name}: seed {seed} is fine: {report}");
            return Some(report);
        }
        Err(failure) => failure,
    };
    let Failure {
        violation, step, ..
    } = &failure;
    println!(
        "{name}: seed {seed} FAILED at step {step}: {violation}\nreplay: cargo xtask sim --machine \
         {name} --seed {seed} --steps {steps} --shards {shards} --faults {faults}"
    );
    shorten::<M>(options, &failure, out);
    None
}

/// Shortens a failure, prints it and writes it to a file.
fn shorten<M: SimMachine>(options: &Options, failure: &Failure, out: &Path) {
    let name = M::NAME;
    let start = Instant::now();
    let choices = Choices::new(options).collect();
    let trace = shrink::<M>(options, choices, failure, &mut || start.elapsed() < SHORTEN);
    println!(
        "{name}: {} steps are enough for {}: {}\nthey are: {trace}",
        trace.choices.len(),
        trace.invariant,
        trace.seen
    );
    let file = out.join(format!("{name}-{}.trace", options.seed));
    let written = fs::create_dir_all(out).and_then(|()| fs::write(&file, trace.text()));
    match written {
        Ok(()) => println!("replay: cargo xtask sim --trace {}", file.display()),
        Err(error) => println!("{} cannot be written: {error}", file.display()),
    }
}

/// Replays a file; a run that is fine now is a success.
fn replay(file: &Path) -> ExitCode {
    let text = fs::read_to_string(file).map_err(|error| error.to_string());
    let trace = match text.and_then(|text| text.parse::<Trace>()) {
        Ok(trace) => trace,
        Err(error) => {
            println!("{}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    };
    let Trace {
        machine, options, ..
    } = &trace;
    let choices = trace.choices.iter().copied();
    let outcome = match Choice::of(machine) {
        Some(Choice::Counters) => follow::<Counters>(options, choices, &mut |_| ()),
        Some(Choice::Contact) => follow::<Contact>(options, choices, &mut |_| ()),
        Some(Choice::Planted) => follow::<Planted>(options, choices, &mut |_| ()),
        Some(Choice::All) | None => {
            println!("{}: {machine} is no machine", file.display());
            return ExitCode::FAILURE;
        }
    };
    match outcome {
        Ok(report) => {
            println!("{machine}: {} steps are fine: {report}", report.steps);
            ExitCode::SUCCESS
        }
        Err(Failure {
            violation, step, ..
        }) => {
            println!("{machine}: FAILED at step {step}: {violation}");
            let same = trace.invariant == violation.invariant;
            let was = if same { "as" } else { "NOT as" };
            println!("{was} in the file: {}: {}", trace.invariant, trace.seen);
            ExitCode::FAILURE
        }
    }
}

/// A seed that nobody chose, short enough to type.
fn fresh_seed() -> u64 {
    getrandom::u64().unwrap_or(1) % 1_000_000_000
}
