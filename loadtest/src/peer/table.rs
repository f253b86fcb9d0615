//! A comparison as a table of at most 80 columns.

use std::fmt;

use crate::report::{self, Document, Peer, Spread};

const WIDTH: usize = 78;

/// Shows the peers of a document, and nothing when it has none.
#[derive(Debug)]
pub(crate) struct Table<'a>(pub(crate) &'a Document);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peers = &self.0.peers;
        let mut names: Vec<&str> = Vec::new();
        for peer in peers {
            if !names.contains(&peer.peer.as_str()) {
                names.push(&peer.peer);
            }
        }
        for name in names {
            let of: Vec<&Peer> = peers.iter().filter(|peer| peer.peer == name).collect();
            one(f, name, &of)?;
        }
        Ok(())
    }
}

fn one(f: &mut fmt::Formatter<'_>, name: &str, peers: &[&Peer]) -> fmt::Result {
    let (rounds, batch) = peers
        .first()
        .map_or((0, 0), |peer| (peer.ours.len(), peer.batch));
    writeln!(f)?;
    let rounds = report::rounds(rounds);
    let head = format!("Interlock beside {name}, batches of {batch}, {rounds}; middle (range)");
    paragraph(f, "", &head)?;
    if let Some(peer) = peers.first() {
        paragraph(f, "  ", &peer.durability)?;
    }
    writeln!(f)?;
    writeln!(
        f,
        "  {:<5}{:<11}{:>19}{:>9}{:>11}{:>11}",
        "conns", "", "checks/s (range)", "p99 ms", "server us", "client us"
    )?;
    let mut by_connections = peers.to_vec();
    by_connections.sort_by_key(|peer| peer.connections);
    let mut last = 0;
    for peer in &by_connections {
        if peer.connections != last {
            row(f, peer, 0)?;
        }
        last = peer.connections;
        row(f, peer, 1)?;
    }
    writeln!(f)?;
    writeln!(
        f,
        "  {:<5}{:<11}{:>22}{:>28}",
        "conns", "", "times its rate", "times its best"
    )?;
    for peer in peers {
        writeln!(
            f,
            "  {:<5}{:<11}{:>22}{:>28}",
            peer.connections,
            peer.form,
            spread(peer.ratio),
            spread(peer.ratio_to_best)
        )?;
    }
    writeln!(f)?;
    if let Some(peer) = peers.first() {
        paragraph(f, "  ", &format!("What the rules of {name} leave out:"))?;
        for difference in &peer.differences {
            paragraph(f, "  - ", difference)?;
        }
    }
    Ok(())
}

/// One server's row: ours is side 0, the peer's side 1.
fn row(f: &mut fmt::Formatter<'_>, peer: &Peer, side: usize) -> fmt::Result {
    let (rates, name) = if side == 0 {
        (&peer.ours, "Interlock")
    } else {
        (&peer.theirs, peer.form)
    };
    let of = Spread::of(rates);
    let rate = format!("{} ({}–{})", short(of.median), short(of.min), short(of.max));
    let server = peer.server_us[side].map_or("?".to_owned(), |us| format!("{us:.2}"));
    let connections = if side == 0 {
        peer.connections.to_string()
    } else {
        String::new()
    };
    writeln!(
        f,
        "  {connections:<5}{name:<11}{rate:>19}{:>9.2}{server:>11}{:>11.2}",
        peer.p99_ms[side], peer.generator_us[side]
    )
}

fn spread(spread: Spread) -> String {
    format!("{:.2} ({:.2}–{:.2})", spread.median, spread.min, spread.max)
}

/// A rate in a few characters.
fn short(rate: f64) -> String {
    let digits = usize::from(rate < 1e5);
    format!("{:.digits$}k", rate / 1e3)
}

/// Words broken into lines, each after the first set in as far as `mark` is wide.
fn paragraph(f: &mut fmt::Formatter<'_>, mark: &str, words: &str) -> fmt::Result {
    let mut line = mark.to_owned();
    let indent = " ".repeat(mark.len());
    for word in words.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(f, "{line}")?;
            line.clone_from(&indent);
        } else if line.trim().len() > mark.trim().len() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(f, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_80_columns_and_names_what_is_left_out() {
        let spread = Spread {
            min: 11.25,
            median: 12.5,
            max: 13.75,
        };
        let peer = |connections, form| Peer {
            peer: "PostgreSQL 15.18".to_owned(),
            form,
            durability: "word ".repeat(40),
            connections,
            batch: 500,
            ours: vec![813_000.0, 746_000.0, 1_100_000.0],
            theirs: vec![65_000.0, 113_000.0, 100_000.0],
            ratio: spread,
            ratio_to_best: spread,
            server_us: [Some(123.4), None],
            generator_us: [0.5, 12.0],
            p99_ms: [12_345.678, 9.0],
            differences: vec!["no decision id at all, and a few more words to break ".repeat(3)],
        };
        let document = Document {
            peers: vec![peer(1, "statement"), peer(16, "pipeline")],
            ..Document::default()
        };
        let text = Table(&document).to_string();
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        for part in [
            "813k (746k–1100k)",
            "12.50 (11.25–13.75)",
            "no decision id",
            "?",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
