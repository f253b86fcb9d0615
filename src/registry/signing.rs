//! The keys that sign a space's tokens, and how one follows another (`docs/spec/contact.md` §13.4).
//!
//! Here: a rotation as other rows, and when one is due. A key is published before it signs and stays
//! published after it did; which one signs is a comparison with the time (`interlock_api::signing`),
//! so a restart in the middle of a rotation changes nothing. Not here: who asks (`rotation`,
//! `verbs`) and the keys themselves, which are functions of the space's secret and a number.

use interlock_api::hashing::PreparedKey;
use interlock_api::signing::{KeyTimes, SigningKeys};
use interlock_domain::time::Timestamp;
use interlock_token::{LEEWAY_S, LIFETIME_S_MAX, REFRESH_S};
use uuid::Uuid;

use super::change::Change;
use super::rows::SigningRow;
use super::{Checked, Registry};

/// Keys of a space at once: one that signs, one that will, and those that did within the last hour.
pub(crate) const KEYS_MAX: usize = 8;

/// How long a key verifies after it signed last: as long as a gateway may rely on the set it read,
/// and a token lives.
const RETIRING_MS: i64 = 1_000 * (REFRESH_S + LIFETIME_S_MAX + LEEWAY_S);

/// How a key follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rotation {
    /// It is published now, and signs so many seconds later.
    Announced {
        /// See `[signing] publish_s`.
        publish_s: u32,
    },
    /// It signs now and every other key leaves the set now: one of them is in wrong hands.
    AtOnce,
}

/// A rotation that was checked.
#[derive(Debug)]
pub(crate) struct Rotated {
    /// The space's name.
    pub(crate) space: String,
    /// When the new key signs.
    pub(crate) signs_from: Timestamp,
    /// When the key that signed until then verifies nothing any more.
    pub(crate) old_until: Timestamp,
}

/// The key of a new space.
pub(super) fn first(now: Timestamp) -> SigningRow {
    SigningRow {
        number: 1,
        publish_at: now.0,
        signs_from: now.0,
        not_after: None,
    }
}

/// What the edge signs and publishes.
pub(super) fn keys(secret: &PreparedKey, rows: &[SigningRow]) -> SigningKeys {
    let times: Vec<KeyTimes> = rows.iter().map(times).collect();
    SigningKeys::new(secret, &times)
}

fn times(row: &SigningRow) -> KeyTimes {
    KeyTimes {
        number: row.number,
        publish_at: Timestamp(row.publish_at),
        signs_from: Timestamp(row.signs_from),
        not_after: row.not_after.map(Timestamp),
    }
}

/// The rows after a rotation; those of keys that are over leave.
fn rotate(rows: &[SigningRow], now: Timestamp, how: Rotation) -> Checked<Vec<SigningRow>> {
    let last = rows.last().ok_or("the space has no key")?;
    let waiting = last.signs_from > now.0;
    let number = last.number.checked_add(1);
    let number = number.ok_or("the space's keys have no further number")?;
    match how {
        // One that waits is known to gateways already.
        Rotation::AtOnce if waiting => Ok(vec![SigningRow {
            signs_from: now.0,
            ..*last
        }]),
        Rotation::AtOnce => Ok(vec![SigningRow {
            number,
            ..first(now)
        }]),
        Rotation::Announced { .. } if waiting => Err(
            "its next key is published already and signs when gateways know it; --now lets it \
             sign at once and ends all others"
                .to_owned(),
        ),
        Rotation::Announced { publish_s } => {
            let signs_from = now.plus_s(i64::from(publish_s)).0;
            let stay = rows.iter().filter(|row| !times(row).is_over(now));
            let mut rotated: Vec<SigningRow> = stay.copied().collect();
            if rotated.len() >= KEYS_MAX {
                return Err(format!(
                    "{KEYS_MAX} of its keys are published; the oldest leaves within the hour, \
                     rotate again then"
                ));
            }
            let ending = rotated.last_mut().filter(|row| row.number == last.number);
            if let Some(old) = ending {
                old.not_after = Some(signs_from + RETIRING_MS);
            }
            rotated.push(SigningRow {
                number,
                publish_at: now.0,
                signs_from,
                not_after: None,
            });
            Ok(rotated)
        }
    }
}

/// Whether the key that signs has done so for so many days, and no other waits; 0 days: never.
fn is_due(rows: &[SigningRow], now: Timestamp, days: u32) -> bool {
    let signed_for = |row: &SigningRow| now.0.saturating_sub(row.signs_from);
    days > 0
        && rows
            .last()
            .is_some_and(|last| signed_for(last) >= i64::from(days) * 86_400_000)
}

impl Registry {
    /// Checks a rotation of a space's key.
    pub(crate) fn rotated(&self, space: Uuid, how: Rotation) -> Checked<(Change, Rotated)> {
        let known = self.spaces.get(&space).ok_or("there is no such space")?;
        let now = self.clock.now();
        let mut row = known.row.clone();
        row.signing = rotate(&row.signing, now, how)?;
        let new = row.signing.last().ok_or("the space has no key")?;
        let signs_from = Timestamp(new.signs_from);
        let old_until = match how {
            Rotation::AtOnce => now,
            Rotation::Announced { .. } => Timestamp(new.signs_from + RETIRING_MS),
        };
        let space = row.name.clone();
        let rotated = Rotated {
            space,
            signs_from,
            old_until,
        };
        Ok((self.with_row(known, row).done(), rotated))
    }

    /// The spaces whose key has signed for so many days; 0 days: none.
    pub(crate) fn rotations_due(&self, days: u32) -> Vec<Uuid> {
        let now = self.clock.now();
        let spaces = self.spaces.iter();
        let due = spaces.filter(|(_, known)| is_due(&known.row.signing, now, days));
        due.map(|(id, _)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_796_040_000_000);
    const HOUR: Rotation = Rotation::Announced { publish_s: 3_600 };

    /// The numbers of the keys that are published, `*` at the one that signs, `-` at those retiring.
    fn seen(rows: &[SigningRow], now: Timestamp) -> String {
        let keys = keys(&PreparedKey::new(&[1; 32]), rows);
        let signer = keys.signer(now).number;
        let shown = keys.published(now).map(|one| {
            let number = one.key.number;
            assert_eq!(one.not_after.is_some(), one.retiring);
            match (one.retiring, number == signer) {
                (true, _) => format!("{number}-"),
                (false, true) => format!("{number}*"),
                (false, false) => format!("{number}"),
            }
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_key_is_published_before_it_signs_and_after_it_did() {
        let rows = rotate(&[first(NOW)], NOW.plus_s(10), HOUR).unwrap();
        let at = |seconds: i64| seen(&rows, NOW.plus_s(seconds));
        assert_eq!(at(9), "1*");
        assert_eq!(at(10), "1* 2");
        assert_eq!(at(3_609), "1* 2");
        assert_eq!(at(3_610), "1- 2*");
        assert_eq!(at(3_610 + 3_724), "1- 2*");
        assert_eq!(at(3_610 + 3_725), "2*");
        // A clock that was put back before all of it.
        assert_eq!(at(-10), "1*");
    }

    #[test]
    fn one_rotation_at_a_time_and_a_bound_on_keys() {
        let mut rows = vec![first(NOW)];
        let quick = Rotation::Announced { publish_s: 60 };
        let mut now = NOW;
        for _ in 1..KEYS_MAX {
            rows = rotate(&rows, now, quick).unwrap();
            assert!(rotate(&rows, now, quick).unwrap_err().contains("--now"));
            now = now.plus_s(60);
        }
        assert!(
            rotate(&rows, now, quick)
                .unwrap_err()
                .contains("rotate again")
        );
        let rows = rotate(&rows, now.plus_s(3_800), quick).unwrap();
        let numbers: Vec<u32> = rows.iter().map(|row| row.number).collect();
        assert_eq!(numbers, [8, 9], "those that are over have left");
    }

    #[test]
    fn a_leaked_key_leaves_at_once_and_no_number_comes_back() {
        let rows = rotate(&[first(NOW)], NOW, Rotation::AtOnce).unwrap();
        assert_eq!(seen(&rows, NOW), "2*");
        let announced = rotate(&rows, NOW, HOUR).unwrap();
        assert_eq!(seen(&announced, NOW), "2* 3");
        let rows = rotate(&announced, NOW.plus_s(5), Rotation::AtOnce).unwrap();
        assert_eq!(seen(&rows, NOW.plus_s(5)), "3*");
        let rows = rotate(&rows, NOW.plus_s(6), Rotation::AtOnce).unwrap();
        assert_eq!(seen(&rows, NOW.plus_s(6)), "4*");
    }

    #[test]
    fn the_schedule_counts_from_when_the_key_signs() {
        let rows = [first(NOW)];
        let days = |count: i64| NOW.plus_s(count * 86_400);
        assert!(!is_due(&rows, days(90).plus_s(-1), 90));
        assert!(is_due(&rows, days(90), 90));
        assert!(!is_due(&rows, days(9_000), 0), "0 is never");
        let rows = rotate(&rows, days(90), HOUR).unwrap();
        assert!(!is_due(&rows, days(91), 90));
        assert!(is_due(&rows, days(180).plus_s(3_600), 90));
    }
}
