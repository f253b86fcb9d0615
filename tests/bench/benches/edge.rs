//! What a worker does for a check before and after a shard decides it: reading the body, hashing the
//! names under the space's secret, signing a token.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use interlock_api::hashing::{Label, PreparedKey};
use interlock_token::{Claims, TokenKey};
use interlock_wire::contact::check::{CheckBatchRequest, CheckRequest};
use interlock_wire::read;

const CHECKS: u64 = 500;

/// The body of a batch as agents send it.
fn body(checks: u64) -> String {
    let mut body = String::from("{\"checks\":[");
    for number in 0..checks {
        if number > 0 {
            body.push(',');
        }
        body.push_str(&check(number));
    }
    body.push_str("]}");
    body
}

fn check(number: u64) -> String {
    format!(
        "{{\"agent_id\":\"agent_{:02}\",\"intent\":\"follow_up\",\"purpose\":\"service\",\
         \"channel\":\"whatsapp\",\"subject\":{{\"type\":\"phone_e164\",\"value\":\"+55119{number:08}\"}},\
         \"object\":{{\"namespace\":\"crm\",\"type\":\"order\",\"id\":\"order-{number:07}\"}},\
         \"effect\":{{\"type\":\"delivery\",\"key\":\"key-{number:016}\"}}}}",
        number % 16
    )
}

fn reading(criterion: &mut Criterion) {
    let (batch, single) = (body(CHECKS), check(1));
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Elements(CHECKS));
    group.bench_function("batch of 500", |bencher| {
        bencher.iter(|| {
            let read: Result<CheckBatchRequest<'_>, _> = read::body(black_box(batch.as_bytes()));
            read.map(|batch| batch.checks.0.len())
        });
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("single check", |bencher| {
        bencher.iter(|| {
            let read: Result<CheckRequest<'_>, _> = read::body(black_box(single.as_bytes()));
            read.is_ok()
        });
    });
    group.finish();
}

fn hashing(criterion: &mut Criterion) {
    let key = PreparedKey::new(&[7; 32]);
    criterion.bench_function("hash/keyed hash of a name", |bencher| {
        bencher.iter(|| key.labelled(Label::Object, &[black_box(b"crm"), b"ticket", b"t-123456"]));
    });
}

fn signing(criterion: &mut Criterion) {
    let key = TokenKey::from_seed(&[7; 32]);
    let claims = Claims {
        kid: "a1b2c3d4".to_owned(),
        space: "0192f5a0-0000-7000-8000-00000000b003".to_owned(),
        jti: "0192f5a0-0000-7000-8000-0000000000aa".to_owned(),
        purpose: "marketing".to_owned(),
        channel: "whatsapp".to_owned(),
        rcpt: "A".repeat(43),
        gateway: "wa_gateway".to_owned(),
        iat: 1_800_000_000,
        exp: 1_800_000_120,
    };
    criterion.bench_function("sign/contact token", |bencher| {
        bencher.iter(|| key.sign(black_box(&claims)));
    });
}

/// The server's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

criterion_group!(benches, reading, hashing, signing);
criterion_main!(benches);
