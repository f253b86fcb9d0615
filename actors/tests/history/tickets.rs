//! A machine that keeps tickets; a command's note is its ticket.

use interlock_domain::ids::IdStream;
use interlock_domain::key::{EntityKey, KeyHash, KeyList, Kind, SpaceId};
use interlock_domain::machine::{
    Broken, Context, Decision, Entities, Machine, Sweep, Undecided, Versioned,
};
use interlock_domain::time::Timestamp;

pub(crate) const SPACE: SpaceId = SpaceId([3; 16]);
pub(crate) const DAY_MS: i64 = 24 * 3_600 * 1_000;
pub(crate) const NOON: Timestamp = Timestamp(20_000 * DAY_MS + DAY_MS / 2);

/// The reply where the part is full.
pub(crate) const REFUSED: u64 = u64::MAX;
/// A ticket from here on is an entity's last: a sweep purges it.
pub(crate) const LAST: u64 = 1_000_000;
/// With a ticket from here on an entity keeps history from going.
pub(crate) const KEEPER: u64 = 2_000_000;

#[derive(Debug, PartialEq)]
pub(crate) struct Tickets;

#[derive(Debug)]
pub(crate) struct Rules;

impl Versioned for Rules {
    fn version(&self) -> u32 {
        7
    }
}

impl Machine for Tickets {
    type Entity = u64;
    type Command = u64;
    type Event = u64;
    type Reply = u64;
    type Note = u64;
    type Notice = ();
    type Policy = Rules;

    const PRODUCT: u8 = 250;
    const FORMAT: u16 = 1;
    const NAME: &'static str = "tickets";
    const KEEPS_HISTORY: Option<Kind> = Some(Kind::Customer);

    fn space(_: &u64) -> SpaceId {
        SPACE
    }

    fn keys(ticket: &u64) -> KeyList {
        let number = u8::try_from(ticket % 40).expect("below 40");
        let key = EntityKey {
            kind: Kind::Customer,
            space: SPACE,
            hash: KeyHash([number.wrapping_mul(151).wrapping_add(7); 16]),
        };
        [key].into_iter().collect()
    }

    fn decide(
        entities: &Entities<'_, u64>,
        ticket: &u64,
        context: &mut Context<'_, Rules>,
    ) -> Decision<Self> {
        let key = Self::keys(ticket)[0];
        if context.part_full && entities.get(&key).is_none() {
            return Decision::read(REFUSED);
        }
        Decision {
            events: [(key, *ticket)].into_iter().collect(),
            reply: *ticket,
            note: Some(*ticket),
            notices: Vec::new(),
        }
    }

    fn part(_: &u64) -> Option<u32> {
        Some(5)
    }

    fn adds_to(_: &u64) -> Option<u32> {
        Some(5)
    }

    fn empty(_: Kind) -> u64 {
        0
    }

    fn apply(entity: &mut u64, event: &u64) {
        *entity = *event;
    }

    fn keeps_history(entity: &u64) -> bool {
        *entity >= KEEPER
    }

    fn due(entity: &u64) -> Option<Timestamp> {
        (LAST..KEEPER).contains(entity).then_some(NOON)
    }

    fn sweep(_: &u64, _: Timestamp) -> Sweep<u64> {
        Sweep::Purge
    }

    fn check(_: &u64) -> Result<(), Broken> {
        Ok(())
    }

    fn rebind(_: &mut u64, _: &Rules) -> Result<(), u64> {
        Ok(())
    }

    fn undecided(_: &u64, _: &Rules, _: Undecided, _: Timestamp, _: &mut IdStream) -> Option<u64> {
        None
    }

    fn outcome(_: &u64) -> (&'static str, &'static str) {
        ("allow", "none")
    }
}
