//! What a document of the load harness says of a target: the figures, each beside its bound.

use serde::Serialize;
use serde_json::Value;

use crate::shell::Outcome;

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Claim {
    /// It in words.
    pub(super) said: String,
    /// The figure.
    value: f64,
    /// Whether it keeps its bound; nothing for a figure without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<bool>,
}

impl Claim {
    fn least(value: f64, bound: f64, said: String) -> Self {
        let kept = Some(value >= bound);
        Self { said, value, kept }
    }

    fn most(value: f64, bound: f64, said: String) -> Self {
        let kept = Some(value <= bound);
        Self { said, value, kept }
    }

    const fn told(value: f64, said: String) -> Self {
        Self {
            said,
            value,
            kept: None,
        }
    }

    /// Whether it has a bound.
    pub(super) const fn is_bound(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether it keeps its bound, or has none.
    pub(super) fn holds(&self) -> bool {
        self.kept != Some(false)
    }
}

/// The figures of a target; an error names one that the document has not.
pub(super) fn claims(id: &str, document: &Value) -> Outcome<Vec<Claim>> {
    match id {
        "T1" => beside_redis(document),
        "T1b" => by_shards(document),
        "T2" => tokens(document),
        "T3" => singles(document),
        "T3b" => singles_beside_redis(document),
        "T4" => processor(document),
        "T5" => memory(document),
        "T6" => recovery(document),
        "T7" => by_customers(document),
        "T8" => steady(document),
        "T9" => alone(document),
        "T10" => hot_share(document),
        "T10b" => hot(document),
        "T10c" => beside(document, 2.0),
        "T11" => beside(document, 3.0),
        _ => Err(format!("no figures are known of {id}")),
    }
}

fn number(value: &Value, pointer: &str) -> Outcome<f64> {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.ok_or_else(|| format!("the harness gave no {pointer}"))
}

fn list<'a>(value: &'a Value, name: &str) -> Outcome<&'a Vec<Value>> {
    let found = value[name].as_array().filter(|list| !list.is_empty());
    found.ok_or_else(|| format!("the harness gave no {name}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .collect()
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count => f64::midpoint(values[(count - 1) / 2], values[count / 2]),
    }
}

/// Digits in groups of three.
fn whole(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Our rate at the fewest connections, the ratio to the peer's better form there, and that to its best.
fn against_redis(document: &Value) -> Outcome<[f64; 3]> {
    let peers = list(document, "peers")?;
    let at = |peer: &&Value| peer["connections"].as_u64().unwrap_or(u64::MAX);
    let fewest = peers.iter().map(|peer| at(&peer)).min();
    let of: Vec<&Value> = peers.iter().filter(|it| Some(at(it)) == fewest).collect();
    let lowest = |pointer: &str| {
        let ratios: Outcome<Vec<f64>> = of.iter().map(|peer| number(peer, pointer)).collect();
        ratios.map(|ratios| ratios.into_iter().fold(f64::INFINITY, f64::min))
    };
    let ours = middle(numbers(&of[0]["ours"]));
    Ok([
        ours,
        lowest("/ratio/median")?,
        lowest("/ratio_to_best/median")?,
    ])
}

fn beside_redis(document: &Value) -> Outcome<Vec<Claim>> {
    let [ours, ratio, best] = against_redis(document)?;
    Ok(vec![
        Claim::least(ours, 400_000.0, format!("{}/s", whole(ours))),
        Claim::least(ratio, 5.0, format!("{ratio:.1} times Redis")),
        Claim::told(best, format!("{best:.1} times its best")),
    ])
}

fn singles_beside_redis(document: &Value) -> Outcome<Vec<Claim>> {
    let [ours, ratio, _] = against_redis(document)?;
    Ok(vec![
        Claim::told(ours, format!("{}/s", whole(ours))),
        Claim::told(ratio, format!("{ratio:.2} times Redis")),
    ])
}

fn by_shards(document: &Value) -> Outcome<Vec<Claim>> {
    let steps = list(document, "shards")?;
    let of = |shards: u64| {
        let step = steps.iter().find(|step| step["shards"] == shards);
        number(step.unwrap_or(&Value::Null), "/per_second")
    };
    let (one, two) = (of(1)?, of(2)?);
    let share = two / one;
    let said = format!(
        "{:.0} % ({}/s over {}/s)",
        share * 100.0,
        whole(two),
        whole(one)
    );
    Ok(vec![Claim::least(share, 0.8, said)])
}

fn tokens(document: &Value) -> Outcome<Vec<Claim>> {
    let ratio = number(document, "/signing/ratio")?;
    let rate = number(document, "/signing/tokens_per_second")?;
    let said = format!("{:.0} % ({} tokens/s)", ratio * 100.0, whole(rate));
    Ok(vec![Claim::least(ratio, 1.1, said)])
}

fn latency(document: &Value, name: &str, bound_ms: f64) -> Outcome<Claim> {
    let value = number(document, &format!("/runs/0/latency/{name}_ms"))?;
    let said = match name {
        "p999" => format!("p99.9 {value:.2} ms"),
        name => format!("{name} {value:.2} ms"),
    };
    Ok(Claim::most(value, bound_ms, said))
}

fn singles(document: &Value) -> Outcome<Vec<Claim>> {
    let faults = ["refused", "broken_connections", "unsent"];
    let mut errors = number(document, "/runs/0/undecided")?;
    for fault in faults {
        errors += number(document, &format!("/runs/0/faults/{fault}"))?;
    }
    Ok(vec![
        latency(document, "p50", 0.8)?,
        latency(document, "p99", 3.0)?,
        latency(document, "p999", 15.0)?,
        Claim::most(errors, 0.0, format!("{} errors", whole(errors))),
    ])
}

fn alone(document: &Value) -> Outcome<Vec<Claim>> {
    Ok(vec![
        latency(document, "p50", 2.0)?,
        latency(document, "p99", 5.0)?,
    ])
}

fn processor(document: &Value) -> Outcome<Vec<Claim>> {
    let us = number(document, "/runs/0/cpu/server_us")?;
    let disk = |name: &str| number(document, &format!("/disk/{name}"));
    let (written, share) = (disk("amplification")?, disk("share")?);
    let reached = disk("device_bytes_per_second").or_else(|_| disk("server_bytes_per_second"))?;
    let (reached, alone) = (reached / 1e6, disk("alone_bytes_per_second")? / 1e6);
    let said = format!(
        "{reached:.0} MB/s to the disk, {:.0} % of the {alone:.0} MB/s it takes alone",
        share * 100.0
    );
    Ok(vec![
        Claim::most(us, 4.5, format!("{us:.2} us")),
        Claim::told(
            written,
            format!("{written:.2} bytes written a byte of record"),
        ),
        Claim::told(reached, said),
    ])
}

fn memory(document: &Value) -> Outcome<Vec<Claim>> {
    let bounds = [500e6, 3.5e9];
    let mut claims = Vec::new();
    for (step, bound) in list(document, "growth")?.iter().zip(bounds) {
        let (customers, bytes) = (
            number(step, "/customers")?,
            number(step, "/resident_bytes")?,
        );
        let each = number(step, "/bytes_per_entity")?;
        let said = format!(
            "{:.0} MB with {} ({each:.0} bytes an entity)",
            bytes / 1e6,
            whole(customers)
        );
        claims.push(Claim::most(bytes, bound, said));
    }
    Ok(claims)
}

fn recovery(document: &Value) -> Outcome<Vec<Claim>> {
    let of = |name: &str| number(document, &format!("/recovery/{name}"));
    let (ready, rate, journal) = (
        of("ready_s")?,
        of("entities_per_second")?,
        of("journal_bytes")?,
    );
    let entities = of("entities")?;
    Ok(vec![
        Claim::most(ready, 3.0, format!("ready in {ready:.2} s")),
        Claim::least(rate, 1e6, format!("{} entities/s", whole(rate))),
        Claim::told(entities, format!("{} entities", whole(entities))),
        Claim::told(journal, format!("{:.0} MB of journal", journal / 1e6)),
    ])
}

fn by_customers(document: &Value) -> Outcome<Vec<Claim>> {
    let steps = list(document, "growth")?;
    let rates: Outcome<Vec<f64>> = steps.iter().map(|it| number(it, "/per_second")).collect();
    let rates = rates?;
    let (first, last) = (rates[0], rates[rates.len() - 1]);
    let share = last / first;
    let said = format!(
        "{:.0} % ({}/s over {}/s)",
        share * 100.0,
        whole(last),
        whole(first)
    );
    Ok(vec![Claim::least(share, 0.8, said)])
}

fn steady(document: &Value) -> Outcome<Vec<Claim>> {
    let of = |name: &str| number(document, &format!("/steady/{name}"));
    let (disk, range, drift) = (
        of("disk_ratio")?,
        of("resident_range")?,
        of("resident_drift")?,
    );
    let cycles = document["steady"]["cycles"].as_array().map_or(0, Vec::len);
    let disk = if cycles == 0 {
        Claim::most(f64::INFINITY, 4.0, "no cycle was over".to_owned())
    } else {
        let said = format!("disk {disk:.1} times the live state at most, {cycles} cycles");
        Claim::most(disk, 4.0, said)
    };
    let range = Claim::most(
        range,
        0.05,
        format!(
            "memory within {:.1} % (drift {:.1} %)",
            range * 100.0,
            drift * 100.0
        ),
    );
    let mut claims = vec![disk, range];
    claims.extend(beside(document, 2.0)?);
    let purged = of("purged")?;
    claims.push(Claim::told(purged, format!("{} purged", whole(purged))));
    Ok(claims)
}

/// How many times as long 99 of 100 quiet requests took beside noisy ones: the middle of all rounds.
fn beside(document: &Value, bound: f64) -> Outcome<Vec<Claim>> {
    let rounds = list(document, "beside")?;
    let of = |name: &str| {
        let values: Outcome<Vec<f64>> = rounds.iter().map(|it| number(it, name)).collect();
        values.map(middle)
    };
    let (ratio, before, after) = (of("/ratio")?, of("/alone_p99_ms")?, of("/together_p99_ms")?);
    let said = format!("p99 {ratio:.1} times ({before:.2} ms, then {after:.2} ms)");
    Ok(vec![Claim::most(ratio, bound, said)])
}

fn rates(document: &Value) -> Outcome<Vec<(String, f64)>> {
    let of = |run: &Value| {
        let rate = number(run, "/throughput/per_second")?;
        let name = run["name"].as_str().unwrap_or_default().to_owned();
        Ok((name, rate))
    };
    list(document, "runs")?.iter().map(of).collect()
}

fn hot_share(document: &Value) -> Outcome<Vec<Claim>> {
    let rates = rates(document)?;
    let (_, spread) = rates[0];
    let share = |(name, rate): &(String, f64)| {
        let said = format!("{name} {:.0} % ({}/s)", rate / spread * 100.0, whole(*rate));
        Claim::least(rate / spread, 0.5, said)
    };
    let mut claims: Vec<Claim> = rates[1..].iter().map(share).collect();
    claims.push(Claim::told(spread, format!("spread {}/s", whole(spread))));
    Ok(claims)
}

fn hot(document: &Value) -> Outcome<Vec<Claim>> {
    let claim = |(name, rate): (String, f64)| {
        Claim::least(rate, 30_000.0, format!("{name} {}/s", whole(rate)))
    };
    Ok(rates(document)?.into_iter().map(claim).collect())
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
