//! Zones and their offsets, by the model's own calculation: the two rules of summer time that the zones
//! of a run follow, as their laws say it.
//!
//! Here: what a local clock shows, and when it shows something. Not here: windows (`rules`).

use interlock_domain::time::Timestamp;

/// When clocks change.
#[derive(Clone, Copy, Debug)]
enum Summer {
    /// Never, in the years of a run.
    None,
    /// From the second Sunday of March to the first of November, at 2:00 on the local clock.
    America,
    /// From the last Sunday of March to the last of October, at 1:00 UTC.
    Europe,
}

/// A zone: its name, its offset in minutes outside summer, and its rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zone {
    pub(super) name: &'static str,
    winter: i64,
    summer: Summer,
}

const fn zone(name: &'static str, winter: i64, summer: Summer) -> Zone {
    Zone {
        name,
        winter,
        summer,
    }
}

/// The zones of a run.
pub(super) const ZONES: [Zone; 4] = [
    zone("UTC", 0, Summer::None),
    zone("America/Sao_Paulo", -180, Summer::None),
    zone("America/New_York", -300, Summer::America),
    zone("Europe/Berlin", 60, Summer::Europe),
];

const HOUR: i64 = 60;
const DAY: i64 = 1_440;

impl Zone {
    /// The minute of the local clock, counted from 1970.
    pub(super) fn local(&self, now: Timestamp) -> i64 {
        let minute = now.0.div_euclid(60_000);
        minute + self.offset(minute)
    }

    /// When the local clock shows a minute: the first time where it does so twice, and by the offset
    /// from before the change where it never does.
    pub(super) fn at(&self, local: i64) -> Timestamp {
        let before = self.offset(local - DAY);
        let after = self.offset(local + DAY);
        let [early, late] = [local - before, local - after];
        let skips_back = self.offset(early) == before;
        let minute = if !skips_back && self.offset(late) == after {
            late
        } else {
            early
        };
        Timestamp(minute * 60_000)
    }

    /// Minutes that the local clock is ahead of UTC at a minute of UTC.
    fn offset(&self, minute: i64) -> i64 {
        let year = year_of(minute.div_euclid(DAY));
        let (from, to) = match self.summer {
            Summer::None => return self.winter,
            Summer::America => (
                sunday(year, 3, 8) * DAY + 2 * HOUR - self.winter,
                sunday(year, 11, 1) * DAY + 2 * HOUR - self.winter - HOUR,
            ),
            Summer::Europe => (
                sunday(year, 3, 25) * DAY + HOUR,
                sunday(year, 10, 25) * DAY + HOUR,
            ),
        };
        let is_summer = from <= minute && minute < to;
        self.winter + if is_summer { HOUR } else { 0 }
    }
}

/// The first Sunday on or after a day of a month, in days from 1970, which began on a Thursday.
fn sunday(year: i64, month: i64, day: i64) -> i64 {
    let first = days(year, month, day);
    first + (3 - first).rem_euclid(7)
}

/// Days from 1970 to a day of the calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have their leap day at the end.
    let years = if month < 3 { year - 1 } else { year };
    let months = (month + 9).rem_euclid(12);
    let leaps = years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    years * 365 + leaps + (months * 153 + 2) / 5 + day - 1 - 719_468
}

/// The year of a day; at its very ends no zone of a run changes.
fn year_of(day: i64) -> i64 {
    let guess = 1_970 + day.div_euclid(366);
    let mut years = guess..;
    let before = years.find(|year| day < days(year + 1, 1, 1));
    before.unwrap_or(guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The changes of 2026, as the almanac has them.
    #[test]
    fn clocks_change_when_the_almanac_says() {
        let [.., new_york, berlin] = ZONES;
        for (zone, change, before, after) in [
            (new_york, 1_772_953_200, -300, -240),
            (new_york, 1_793_512_800, -240, -300),
            (berlin, 1_774_746_000, 60, 120),
            (berlin, 1_792_890_000, 120, 60),
        ] {
            let minute = change / 60;
            let offsets = [zone.offset(minute - 1), zone.offset(minute)];
            assert_eq!(offsets, [before, after], "{zone:?}");
        }
    }

    /// 2026-10-25, 2:30 in Berlin comes twice; 2026-03-29, 2:30 not at all.
    #[test]
    fn what_comes_twice_is_first_and_what_never_comes_is_by_the_old_offset() {
        let berlin = ZONES[3];
        let twice = days(2026, 10, 25) * DAY + 150;
        assert_eq!(berlin.at(twice), Timestamp(1_792_888_200_000));
        let never = days(2026, 3, 29) * DAY + 150;
        assert_eq!(berlin.at(never), Timestamp(1_774_747_800_000));
        for hour in [0, 1, 4, 23] {
            let local = days(2026, 3, 29) * DAY + hour * HOUR;
            assert_eq!(berlin.local(berlin.at(local)), local, "{hour}");
        }
    }
}
