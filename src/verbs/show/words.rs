//! The facts of one entity in words, at most 80 columns wide.

use super::super::table::table;
use super::facts::{EffectFacts, Shown};

/// All of them, a paragraph for each kind of fact.
pub(super) fn of(shown: &Shown) -> String {
    let Shown {
        what, space, now, ..
    } = shown;
    if !shown.known {
        return format!("space `{space}` holds nothing of this {what} ({now})");
    }
    let mut parts = vec![format!("{what} in space `{space}`, at {now}")];
    parts.extend(shown.effect.as_ref().map(effect));
    if !shown.claims.is_empty() {
        parts.push(claims(shown));
    }
    if !shown.locks.is_empty() {
        parts.push(locks(shown));
    }
    if shown.tied > 0 {
        parts.push(format!("{} effect keys live as long as it", shown.tied));
    }
    if !shown.budgets.is_empty() {
        parts.push(budgets(shown));
    }
    if !shown.paid.is_empty() {
        parts.push(paid(shown));
    }
    if !shown.suppressions.is_empty() {
        parts.push(suppressions(shown));
    }
    if !shown.messages.is_empty() {
        let rows = shown.messages.iter();
        let rows = rows.map(|one| vec![one.channel.clone(), one.at.clone()]);
        let rows: Vec<Vec<String>> = rows.collect();
        parts.push(format!(
            "last messages\n{}",
            table(&["channel", "at"], &rows)
        ));
    }
    if !shown.legal_holds.is_empty() {
        parts.push(legal_holds(shown));
    }
    parts.join("\n\n")
}

fn effect(effect: &EffectFacts) -> String {
    let fact = |name: &str, value: &Option<String>| {
        let value = value.as_ref();
        value.map(|value| vec![name.to_owned(), value.clone()])
    };
    let always = |name: &str, value: &str| Some(vec![name.to_owned(), value.to_owned()]);
    let rows: Vec<Vec<String>> = [
        always("attempt", &effect.attempt.to_string()),
        always("kind", &effect.kind),
        always("source", &effect.source),
        always("reserved at", &effect.reserved_at),
        fact("lease until", &effect.lease_until),
        fact("settled at", &effect.settled_at),
        fact("kept until", &effect.kept_until),
        effect
            .tied
            .then(|| vec!["kept".to_owned(), "as long as its object lives".to_owned()]),
        always("short id", &effect.short),
    ]
    .into_iter()
    .flatten()
    .collect();
    table(&["state", &effect.state], &rows)
}

fn claims(shown: &Shown) -> String {
    let rows: Vec<Vec<String>> = shown
        .claims
        .iter()
        .map(|claim| {
            let standing = match (claim.governs, claim.live) {
                (true, _) => "governs",
                (false, true) => "live",
                (false, false) => "ended",
            };
            vec![
                standing.to_owned(),
                claim.holder.clone(),
                claim.kind.clone(),
                claim.level.clone(),
                claim.epoch.to_string(),
                claim.until.clone(),
            ]
        })
        .collect();
    let headings = ["", "holder", "kind", "level", "epoch", "until"];
    format!("claims\n{}", table(&headings, &rows))
}

fn locks(shown: &Shown) -> String {
    let rows: Vec<Vec<String>> = shown
        .locks
        .iter()
        .map(|lock| {
            let standing = if lock.live { "live" } else { "ended" };
            vec![
                standing.to_owned(),
                lock.task.clone(),
                lock.holder.clone(),
                lock.epoch.to_string(),
                lock.until.clone(),
            ]
        })
        .collect();
    let headings = ["", "task", "holder", "epoch", "until"];
    format!("task locks\n{}", table(&headings, &rows))
}

fn budgets(shown: &Shown) -> String {
    let rows: Vec<Vec<String>> = shown
        .budgets
        .iter()
        .map(|budget| {
            vec![
                budget.purpose.clone(),
                format!("{} of {}", budget.used, budget.limit),
                format!("{} h", budget.per_hours),
                budget.next.clone().unwrap_or_else(|| "now".to_owned()),
            ]
        })
        .collect();
    let headings = ["purpose", "used", "window", "next"];
    format!("budgets\n{}", table(&headings, &rows))
}

fn paid(shown: &Shown) -> String {
    let rows: Vec<Vec<String>> = shown
        .paid
        .iter()
        .map(|paid| {
            vec![
                paid.operation.clone(),
                format!("{} of {}", paid.used, paid.limit),
                format!("{} h", paid.per_hours),
                paid.next.clone().unwrap_or_else(|| "now".to_owned()),
            ]
        })
        .collect();
    let headings = ["operation", "units", "window", "next"];
    format!("paid operations\n{}", table(&headings, &rows))
}

fn legal_holds(shown: &Shown) -> String {
    let holds = shown.legal_holds.iter();
    let rows: Vec<Vec<String>> = holds
        .map(|hold| vec![hold.id.clone(), hold.since.clone()])
        .collect();
    let count = rows.len();
    format!("legal holds: {count}\n{}", table(&["id", "since"], &rows))
}

fn suppressions(shown: &Shown) -> String {
    let rows: Vec<Vec<String>> = shown
        .suppressions
        .iter()
        .map(|known| {
            let or = |value: &Option<String>, none: &str| {
                value.clone().unwrap_or_else(|| none.to_owned())
            };
            let standing = if known.in_force { "" } else { "ended" };
            vec![
                standing.to_owned(),
                known.purpose.clone(),
                or(&known.channel, "every"),
                or(&known.until, "no end"),
                or(&known.window, "all hours"),
                known.source.clone(),
            ]
        })
        .collect();
    let headings = ["", "purpose", "channel", "until", "hours", "source"];
    format!("suppressions\n{}", table(&headings, &rows))
}
