//! What a shard does for a batch of 500 checks of fresh effects, by how many customers it knows:
//! find, decide, encode and apply, without waiting for a disk.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use interlock_bench::{BATCH, Checks, decide, filled, policy, transactions};

fn turns(criterion: &mut Criterion) {
    let policy = policy();
    let mut group = criterion.benchmark_group("shard");
    group
        .throughput(Throughput::Elements(BATCH))
        .sample_size(50);
    for customers in [10_000, 1_000_000] {
        let mut shard = filled(customers, &policy);
        let mut checks = Checks::on(customers, &policy);
        // The filling took the first effects.
        for _ in 0..customers {
            let _ = checks.next(Some(0));
        }
        group.bench_function(format!("batch of 500, {customers} customers"), |bencher| {
            bencher.iter_batched(
                || transactions(&policy, checks.batch()),
                |batch| decide(&mut shard, batch),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn planning(criterion: &mut Criterion) {
    let policy = policy();
    let mut checks = Checks::on(1_000_000, &policy);
    let mut group = criterion.benchmark_group("plan");
    group.throughput(Throughput::Elements(BATCH));
    group.bench_function("batch of 500", |bencher| {
        bencher.iter_batched(
            || checks.batch(),
            |batch| transactions(&policy, batch),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

/// The server's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

criterion_group!(benches, turns, planning);
criterion_main!(benches);
