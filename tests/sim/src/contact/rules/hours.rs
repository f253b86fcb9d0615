//! Hours of a local day, as quiet hours and contact windows have them.

use interlock_domain::contact::window::Window;
use interlock_domain::time::Timestamp;

use super::super::zones::ZONES;
use crate::random::Random;

/// Hours of a local day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::contact) struct Hours {
    from: i64,
    to: i64,
    zone: usize,
}

impl Hours {
    pub(in crate::contact) fn new(random: &mut Random) -> Self {
        let minute = |within: u64, random: &mut Random| {
            let minute = random.below(within);
            i64::try_from(minute).unwrap_or(0)
        };
        let (from, to) = if random.chance(500) {
            // Around the hours in which clocks change.
            (minute(100, random), 150 + minute(150, random))
        } else {
            let from = minute(1_440, random);
            (from, (from + 1 + minute(1_440, random) % 1_439) % 1_440)
        };
        Self {
            from,
            to,
            zone: random.pick(&[0, 1, 2, 2, 3, 3]),
        }
    }

    /// The product's form.
    pub(in crate::contact) fn window(&self) -> Window {
        let [from, to] = self.times();
        Window::new(&from, &to, ZONES[self.zone].name, None)
            .unwrap_or_else(|error| panic!("the window is valid: {error:?}"))
    }

    /// From the product's form.
    pub(in crate::contact) fn of(window: &Window) -> Self {
        let minute = |text: String| {
            let mut parts = text.split(':').map(|part| part.parse().unwrap_or(0));
            parts.next().unwrap_or(0) * 60 + parts.next().unwrap_or(0)
        };
        let zone = ZONES.iter().position(|zone| zone.name == window.tz());
        Self {
            from: minute(window.from()),
            to: minute(window.to()),
            zone: zone.unwrap_or(0),
        }
    }

    /// When they end, if `now` is inside.
    pub(in crate::contact) fn end(&self, now: Timestamp) -> Option<Timestamp> {
        let zone = ZONES[self.zone];
        let local = zone.local(now);
        let minute = local.rem_euclid(1_440);
        let midnight = local - minute;
        let over_midnight = self.to <= self.from;
        let end = match (over_midnight, minute >= self.from, minute < self.to) {
            (false, true, true) | (true, false, true) => midnight + self.to,
            (true, true, _) => midnight + 1_440 + self.to,
            (false, ..) | (true, false, false) => return None,
        };
        Some(zone.at(end))
    }

    /// By how many minutes they are longer than the clock shows, if `now` is inside and clocks change
    /// before they end.
    pub(in crate::contact) fn change(&self, now: Timestamp) -> Option<i64> {
        let zone = ZONES[self.zone];
        let end = self.end(now)?;
        let shown = zone.local(end) - zone.local(now);
        let longer = (end.0.div_euclid(60_000) - now.0.div_euclid(60_000)) - shown;
        (longer != 0).then_some(longer)
    }

    /// The name of their zone.
    pub(super) fn zone(&self) -> &'static str {
        ZONES[self.zone].name
    }

    /// When they begin and end.
    pub(super) fn times(&self) -> [String; 2] {
        [self.from, self.to].map(|minute| format!("{:02}:{:02}", minute / 60, minute % 60))
    }
}
