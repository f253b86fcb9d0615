//! The charts of a comparison with peers: the ratio, the rates and the processor time of each.

use super::axis::Axis;
use super::chart::{Bar, Chart, Drawing, Table};
use super::words::figure;
use crate::report::{Peer, Spread};

/// The charts of every peer, in the order they were compared.
pub(crate) fn charts(peers: &[Peer]) -> Vec<Chart> {
    let mut names: Vec<&str> = Vec::new();
    for peer in peers {
        if !names.contains(&peer.peer.as_str()) {
            names.push(&peer.peer);
        }
    }
    let of = |name: &&str| {
        let of: Vec<&Peer> = peers.iter().filter(|it| it.peer == *name).collect();
        Beside::new(name, of).map_or_else(Vec::new, |it| it.charts())
    };
    names.iter().flat_map(of).collect()
}

/// Everything about one peer.
struct Beside<'a> {
    name: &'a str,
    peers: Vec<&'a Peer>,
    connections: Vec<u64>,
    forms: Vec<&'static str>,
}

impl<'a> Beside<'a> {
    fn new(name: &'a str, peers: Vec<&'a Peer>) -> Option<Self> {
        let mut connections: Vec<u64> = peers.iter().map(|peer| peer.connections).collect();
        connections.sort_unstable();
        connections.dedup();
        let mut forms: Vec<&'static str> = Vec::new();
        for peer in &peers {
            if !forms.contains(&peer.form) {
                forms.push(peer.form);
            }
        }
        (!peers.is_empty()).then_some(Self {
            name,
            peers,
            connections,
            forms,
        })
    }

    fn charts(&self) -> Vec<Chart> {
        let name = self.name;
        let rate = |side: usize| move |peer: &Peer| bar(Spread::of(rates(peer, side)));
        let cpu = |side: usize| {
            move |peer: &Peer| Bar {
                value: peer.server_us[side],
                low: 0.0,
                high: 0.0,
            }
        };
        let forms = || self.forms.iter().map(|form| format!("{name}, {form}"));
        let servers: Vec<String> = ["Interlock".to_owned()]
            .into_iter()
            .chain(forms())
            .collect();
        let over = forms().map(|form| format!("over {form}"));
        let ratios: Vec<String> = over.chain([format!("over {name} at its best")]).collect();
        let batch = self.peers.first().map_or(0, |peer| peer.batch);
        let note = format!(
            "Batches of {batch}; the middle of the rounds, the line from the lowest to \
                            the highest."
        );
        vec![
            self.chart(
                format!("Interlock over {name}"),
                format!("How many times the peer's checks a second, round by round. {note}"),
                "times",
                ratios,
                |of| {
                    let same = of.iter().map(|peer| bar(peer.ratio));
                    same.chain(of.first().map(|peer| bar(peer.ratio_to_best)))
                        .collect()
                },
            ),
            self.chart(
                format!("Interlock and {name}"),
                note,
                "checks a second",
                servers.clone(),
                |of| {
                    let ours = of.first().map(|peer| rate(0)(peer));
                    ours.into_iter()
                        .chain(of.iter().map(|peer| rate(1)(peer)))
                        .collect()
                },
            ),
            self.chart(
                format!("Processor time of Interlock and {name}"),
                "What the server takes for each check, its disk writes included.".to_owned(),
                "microseconds a check",
                servers,
                |of| {
                    let ours = of.first().map(|peer| cpu(0)(peer));
                    ours.into_iter()
                        .chain(of.iter().map(|peer| cpu(1)(peer)))
                        .collect()
                },
            ),
        ]
    }

    fn chart(
        &self,
        title: String,
        note: String,
        unit: &str,
        series: Vec<String>,
        bars: impl Fn(&[&Peer]) -> Vec<Bar>,
    ) -> Chart {
        let at = |connections: &u64| {
            let of = self
                .peers
                .iter()
                .filter(|peer| peer.connections == *connections);
            bars(&of.copied().collect::<Vec<_>>())
        };
        let groups: Vec<Vec<Bar>> = self.connections.iter().map(at).collect();
        let ends = groups
            .iter()
            .flatten()
            .flat_map(|bar| [bar.value.unwrap_or(0.0), bar.high]);
        let mut head = vec!["connections".to_owned()];
        head.extend(series.iter().cloned());
        let row = |(connections, bars): (&u64, &Vec<Bar>)| {
            let mut cells = vec![connections.to_string()];
            cells.extend(bars.iter().map(|bar| bar.words()));
            cells
        };
        Chart {
            title,
            note,
            x: Axis::names("connections", self.connections.iter().map(u64::to_string)),
            y: Axis::linear(unit, ends),
            series,
            table: Table {
                head,
                rows: self.connections.iter().zip(&groups).map(row).collect(),
            },
            drawing: Drawing::Bars(groups),
        }
    }
}

impl Bar {
    fn words(&self) -> String {
        match self.value {
            None => "not known".to_owned(),
            Some(value) if self.low < self.high => {
                format!(
                    "{} ({}–{})",
                    figure(value),
                    figure(self.low),
                    figure(self.high)
                )
            }
            Some(value) => figure(value),
        }
    }
}

fn rates(peer: &Peer, side: usize) -> &[f64] {
    if side == 0 { &peer.ours } else { &peer.theirs }
}

const fn bar(spread: Spread) -> Bar {
    Bar {
        value: Some(spread.median),
        low: spread.min,
        high: spread.max,
    }
}
