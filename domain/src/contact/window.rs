//! Hours of local wall time: quiet hours and contact windows.
//!
//! Here: a window, its parsing, whether an instant is inside and when it ends
//! (`docs/spec/contact.md` §12). Not here: what a window stops. Zones come from the database in
//! the binary, so every machine and every replay of one build answers alike.
//!
//! Local times are kept as wall times with their zone and turned into instants when asked, never
//! stored with an offset: an offset of winter is wrong in summer.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::contact::text::Text;
use crate::time::Timestamp;

/// Hours of local wall time, `from` inside, `to` outside; over midnight when `to` is not after
/// `from`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// First minute of the day, 0 to 1439.
    from_minute: u16,
    /// First minute outside, 0 to 1439.
    to_minute: u16,
    /// Days it may start on: bit 0 is Monday, bit 6 Sunday.
    days: u8,
    /// Where.
    zone: Zone,
}

/// Why a window was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidWindow {
    /// `from` or `to` is not `HH:MM`.
    Time,
    /// `from` equals `to`.
    Empty,
    /// The zone is not in the IANA database.
    Zone,
    /// A day is not 1 (Monday) to 7 (Sunday), or there is none.
    Days,
}

impl InvalidWindow {
    /// The member at fault.
    #[must_use]
    pub const fn member(self) -> &'static str {
        match self {
            Self::Time => "from",
            Self::Empty => "to",
            Self::Zone => "tz",
            Self::Days => "days",
        }
    }

    /// The rule that does not hold.
    #[must_use]
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Time => "`from` and `to` are times of day, 00:00 to 23:59",
            Self::Empty => "`from` and `to` must differ",
            Self::Zone => "must be a zone of the IANA database",
            Self::Days => "must be weekdays, 1 (Monday) to 7 (Sunday), at least one",
        }
    }
}

/// How a window stands at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// The instant is outside.
    Outside,
    /// It is inside, until this end. `None`: the zone is unknown to this build, and the window is
    /// taken to cover every instant rather than none.
    Inside(Option<Timestamp>),
}

const EVERY_DAY: u8 = 0b0111_1111;

impl Window {
    /// A window of the wire's or a document's members; `days` of `None` means every day.
    ///
    /// # Errors
    /// The rule that a member breaks.
    pub fn new(from: &str, to: &str, tz: &str, days: Option<&[u8]>) -> Result<Self, InvalidWindow> {
        let from_minute = minute_of_day(from).ok_or(InvalidWindow::Time)?;
        let to_minute = minute_of_day(to).ok_or(InvalidWindow::Time)?;
        if from_minute == to_minute {
            return Err(InvalidWindow::Empty);
        }
        let zone = Zone::named(tz);
        if zone.rules.is_none() {
            return Err(InvalidWindow::Zone);
        }
        let days = match days {
            None => EVERY_DAY,
            Some(days) => day_bits(days).ok_or(InvalidWindow::Days)?,
        };
        Ok(Self {
            from_minute,
            to_minute,
            days,
            zone,
        })
    }

    /// How the window stands at `now`.
    ///
    /// Inside is judged on the wall clock alone. The end is the wall time of the day it ends on,
    /// turned into an instant: of an end that comes twice the first, and for an end that is
    /// skipped the offset from before the change.
    #[must_use]
    pub fn cover(&self, now: Timestamp) -> Cover {
        let Some(rules) = &self.zone.rules else {
            return Cover::Inside(None);
        };
        let Ok(instant) = jiff::Timestamp::from_millisecond(now.0) else {
            return Cover::Inside(None);
        };
        let local = rules.to_datetime(instant);
        let minute = u16::try_from(i32::from(local.hour()) * 60 + i32::from(local.minute()))
            .unwrap_or_default();
        match self.end_date(local.date(), minute) {
            None => Cover::Outside,
            Some(date) => Cover::Inside(self.end_instant(rules, date)),
        }
    }

    /// The local date the window ends on, when the wall time is inside it.
    fn end_date(&self, today: Date, minute: u16) -> Option<Date> {
        let over_midnight = self.to_minute <= self.from_minute;
        if !over_midnight {
            let inside = self.from_minute <= minute && minute < self.to_minute;
            return (inside && self.starts_on(today)).then_some(today);
        }
        if minute >= self.from_minute {
            return self
                .starts_on(today)
                .then(|| today.tomorrow().ok())
                .flatten();
        }
        // After midnight the window is counted to the day it began.
        let began_yesterday = today.yesterday().is_ok_and(|day| self.starts_on(day));
        (minute < self.to_minute && began_yesterday).then_some(today)
    }

    fn starts_on(&self, date: Date) -> bool {
        let bit = match date.weekday() {
            Weekday::Monday => 0,
            Weekday::Tuesday => 1,
            Weekday::Wednesday => 2,
            Weekday::Thursday => 3,
            Weekday::Friday => 4,
            Weekday::Saturday => 5,
            Weekday::Sunday => 6,
        };
        self.days & (1 << bit) != 0
    }

    fn end_instant(&self, rules: &TimeZone, date: Date) -> Option<Timestamp> {
        let hour = i8::try_from(self.to_minute / 60).ok()?;
        let minute = i8::try_from(self.to_minute % 60).ok()?;
        // `compatible` is: the first of two, and the offset from before a gap.
        rules
            .to_ambiguous_timestamp(date.at(hour, minute, 0, 0))
            .compatible()
            .ok()
            .map(|instant| Timestamp(instant.as_millisecond()))
    }

    /// `from` as `HH:MM`.
    #[must_use]
    pub fn from(&self) -> String {
        clock(self.from_minute)
    }

    /// `to` as `HH:MM`.
    #[must_use]
    pub fn to(&self) -> String {
        clock(self.to_minute)
    }

    /// The zone's name.
    #[must_use]
    pub fn tz(&self) -> &str {
        &self.zone.name
    }

    /// The days it may start on, 1 (Monday) to 7; `None` for every day.
    #[must_use]
    pub fn days(&self) -> Option<Vec<u8>> {
        let listed = (1..=7).filter(|day| self.days & (1 << (day - 1)) != 0);
        (self.days != EVERY_DAY).then(|| listed.collect())
    }
}

fn clock(minute_of_day: u16) -> String {
    format!("{:02}:{:02}", minute_of_day / 60, minute_of_day % 60)
}

/// Parses `HH:MM` exactly.
fn minute_of_day(text: &str) -> Option<u16> {
    let [h1, h2, b':', m1, m2] = *text.as_bytes() else {
        return None;
    };
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
    let hour = digit(h1)? * 10 + digit(h2)?;
    let minute = digit(m1)? * 10 + digit(m2)?;
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

fn day_bits(days: &[u8]) -> Option<u8> {
    let mut bits = 0;
    for day in days {
        if !(1..=7).contains(day) {
            return None;
        }
        bits |= 1 << (day - 1);
    }
    (bits != 0).then_some(bits)
}

/// A zone by its name, with its rules where this build knows it. Stored as its name.
#[derive(Clone, Debug)]
struct Zone {
    name: Text,
    rules: Option<TimeZone>,
}

impl Zone {
    fn named(name: &str) -> Self {
        // The lookup ignores case and the database has forms that are not names; only a name as
        // the database spells it is taken, so that one zone has one identity.
        let rules = jiff::tz::TimeZoneDatabase::bundled()
            .get(name)
            .ok()
            .filter(|zone| !zone.is_unknown() && zone.iana_name() == Some(name));
        Self {
            name: Text::from(name),
            rules,
        }
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|name| Self::named(&name))
    }
}
