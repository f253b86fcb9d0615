//! The axes of charts: from values to places on a line, and the places that get a label. Places are
//! plain numbers, so that the drawing knows nothing of scales.

use super::words::short;

/// More decades than this are not told apart on a phone.
const DECADES_MAX: i32 = 12;
/// Labels of a linear axis, about.
const LABELS: f64 = 5.0;
/// Nines from which the places of 0 % and 50 % are too near for both to have a label.
const NARROW: f64 = 3.2;
/// The scale turns to powers of ten when the highest value is this many times the lowest.
const SPREAD_MAX: f64 = 60.0;

/// How values become places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Powers,
    /// Percent, each nine as far from the last as the one before.
    Nines,
}

/// One axis.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// What it shows, with the unit.
    pub(crate) title: String,
    scale: Scale,
    /// The first and the last place.
    pub(crate) places: (f64, f64),
    /// The places that have a label.
    pub(crate) labels: Vec<(f64, String)>,
}

impl Axis {
    /// From 0 to a round number above all values.
    pub(crate) fn linear(title: &str, values: impl Iterator<Item = f64>) -> Self {
        let highest = values.filter(|it| it.is_finite()).fold(0.0, f64::max);
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let step = round_step(highest / LABELS);
        let steps = (highest / step).ceil().max(1.0);
        let labels = (0..=steps as u32).map(|number| {
            let place = f64::from(number) * step;
            (place, short(place))
        });
        Self {
            title: title.to_owned(),
            scale: Scale::Linear,
            places: (0.0, steps * step),
            labels: labels.collect(),
        }
    }

    /// Powers of ten around all values above 0.
    pub(crate) fn powers(title: &str, values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|it| it.is_finite() && *it > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        if high == 0.0 {
            (low, high) = (1.0, 10.0);
        }
        let to = high.log10().ceil() as i32;
        let from = (low.log10().floor() as i32).clamp(to - DECADES_MAX, to - 1);
        let between: &[f64] = if to - from <= 2 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let mut labels: Vec<(f64, String)> = Vec::new();
        for decade in from..=to {
            let values = between.iter().map(|it| it * 10_f64.powi(decade));
            labels.extend(values.map(|value| (value.log10(), short(value))));
        }
        labels.retain(|(place, _)| *place <= f64::from(to) + 1e-9);
        Self {
            title: title.to_owned(),
            scale: Scale::Powers,
            places: (f64::from(from), f64::from(to)),
            labels,
        }
    }

    /// Linear, or powers of ten when the values are far apart.
    pub(crate) fn fitting(title: &str, values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.filter(|it| *it > 0.0).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        if high / low > SPREAD_MAX {
            Self::powers(title, values.into_iter())
        } else {
            Self::linear(title, values.into_iter())
        }
    }

    /// Shares in percent up to the highest of `shares` below 100.
    pub(crate) fn nines(title: &str, shares: impl Iterator<Item = f64>) -> Self {
        let below = shares.filter(|it| (0.0..100.0).contains(it));
        let highest = below.map(nine).fold(2.0, f64::max);
        let all = [
            (50.0, "50 %"),
            (90.0, "90 %"),
            (99.0, "99 %"),
            (99.9, "99.9 %"),
            (99.99, "99.99 %"),
            (99.999, "99.999 %"),
            (99.9999, "99.9999 %"),
        ];
        // With many nines the first label would touch the second.
        let first = (highest < NARROW).then(|| (0.0, "0 %".to_owned()));
        let mut labels: Vec<_> = first.into_iter().collect();
        labels.extend(all.map(|(share, label)| (nine(share), label.to_owned())));
        labels.retain(|(place, _)| *place <= highest + 1e-9);
        Self {
            title: title.to_owned(),
            scale: Scale::Nines,
            // The highest of all stands a little behind the last share.
            places: (0.0, highest + 0.15),
            labels,
        }
    }

    /// Names beside one another, each in the middle of its own unit.
    pub(crate) fn names(title: &str, names: impl Iterator<Item = String>) -> Self {
        let labels: Vec<_> = (0..).map(f64::from).zip(names).collect();
        Self {
            title: title.to_owned(),
            scale: Scale::Linear,
            places: (-0.5, labels.len() as f64 - 0.5),
            labels,
        }
    }

    /// Where a value stands; at an end when it is beyond it, and nowhere when it has no place.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => value,
            Scale::Powers if value <= 0.0 => return None,
            Scale::Powers => value.log10(),
            Scale::Nines if value >= 100.0 => self.places.1,
            Scale::Nines => nine(value),
        };
        let (from, to) = self.places;
        place.is_finite().then(|| place.clamp(from, to))
    }

    /// The label at a place; empty where there is none.
    pub(crate) fn label(&self, place: f64) -> String {
        let at = |label: &&(f64, String)| (label.0 - place).abs() < 1e-9;
        self.labels
            .iter()
            .find(at)
            .map_or_else(String::new, |it| it.1.clone())
    }
}

fn nine(share: f64) -> f64 {
    -(1.0 - share / 100.0).log10()
}

/// The next of 1, 2, 5, 10 and so on above a step.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let fits = |factor: &f64| factor * power >= step * (1.0 - 1e-9);
    [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.labels.iter().map(|label| label.1.as_str()).collect()
    }

    #[test]
    fn a_linear_axis_starts_at_0_and_ends_above_all() {
        let axis = Axis::linear("rate", [380_000.0, 410_000.0].into_iter());
        assert_eq!(labels(&axis), ["0", "100k", "200k", "300k", "400k", "500k"]);
        assert_eq!(axis.place(250_000.0), Some(250_000.0));
        assert_eq!(
            labels(&Axis::linear("", std::iter::empty())).last(),
            Some(&"1")
        );
        let small = Axis::linear("", [0.0003].into_iter());
        assert!(small.places.1 >= 0.0003 && small.labels.len() > 2);
    }

    #[test]
    fn powers_of_ten_hold_all_values_and_no_other() {
        let axis = Axis::powers("ms", [0.7, 900.0].into_iter());
        assert_eq!(labels(&axis), ["0.1", "1", "10", "100", "1k"]);
        assert_eq!(axis.place(100.0), Some(2.0));
        assert_eq!(axis.place(0.0), None);
        let few = Axis::powers("ms", [2.0, 30.0].into_iter());
        assert_eq!(labels(&few), ["1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(
            Axis::fitting("", [1.0, 1000.0].into_iter()).scale,
            Scale::Powers
        );
        assert_eq!(
            Axis::fitting("", [1.0, 10.0].into_iter()).scale,
            Scale::Linear
        );
        assert_eq!(Axis::powers("", [10.0].into_iter()).places, (0.0, 1.0));
    }

    #[test]
    fn nines_are_equally_far_apart() {
        let axis = Axis::nines("requests", [0.0, 50.0, 99.92, 100.0].into_iter());
        assert_eq!(labels(&axis), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        let more = Axis::nines("requests", [99.995].into_iter());
        assert_eq!(labels(&more), ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
        let place = |share| axis.place(share).expect("a place");
        assert!((place(99.9) - 3.0).abs() < 1e-9 && (place(90.0) - 1.0).abs() < 1e-9);
        assert_eq!(axis.place(100.0), Some(axis.places.1));
        assert_eq!(axis.label(place(0.0)), "0 %");
        assert_eq!(axis.label(1.5), "");
    }

    #[test]
    fn names_stand_in_the_middle() {
        let axis = Axis::names("shards", ["1", "2"].map(str::to_owned).into_iter());
        assert_eq!(axis.places, (-0.5, 1.5));
        assert_eq!(axis.label(1.0), "2");
    }
}
