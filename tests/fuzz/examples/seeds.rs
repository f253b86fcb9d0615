//! Writes those seeds of the corpora that nobody writes by hand: records and slices of a few decisions,
//! cursors and tokens. Run it after the format changed, then `cargo xtask fuzz`, which grows them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use interlock_actors::partition::SnapshotHead;
use interlock_actors::record::{Change, Entry, RecordEncoder, RecordHead};
use interlock_api::hashing::PreparedKey;
use interlock_api::testing::{Place, cursor_text};
use interlock_domain::contact::Contact;
use interlock_domain::contact::command::{
    AdmissionPlace, AdmissionSettlement, Admit, Body, Command, EndFact, EndReport, ForgetCustomer,
    HoldPlace, PlaceHold, ReleaseHold, RequestReport, Route, SettleAdmission, Settlement,
};
use interlock_domain::contact::commitment::CommitmentState;
use interlock_domain::contact::directory::Target;
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::fixture::{self, AGENTS, hash};
use interlock_domain::contact::legal_hold::HoldTarget;
use interlock_domain::contact::name::SourceId;
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::promise::PromiseState;
use interlock_domain::contact::text::Text;
use interlock_domain::ids::{Id, IdStream};
use interlock_domain::key::EntityKey;
use interlock_domain::machine::{Context, Decision, Entities, Machine, View};
use interlock_domain::time::Timestamp;
use interlock_storage::sled::codec::encode_record;
use interlock_storage::{Append, Commit, Epoch, Group, Partition, Sequence};
use interlock_token::{Claims, TokenKey, keyed_hash};

const NOW: Timestamp = Timestamp(1_773_144_000_000);

fn main() {
    let records = decisions();
    for (number, record) in records.iter().enumerate() {
        put("journal", &format!("record-{number:02}"), 1, record);
    }
    parts(&records);
    chunks();
    cursors();
    tokens();
}

/// Writes a seed: the byte that chooses, and what it chooses about.
fn put(target: &str, name: &str, mode: u8, bytes: &[u8]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folder = root.join(target);
    fs::create_dir_all(&folder).expect("the folder can be made");
    let seed = [&[mode], bytes].concat();
    fs::write(folder.join(name), seed).expect("the seed can be written");
}

/// Entities and what was decided about them.
struct World {
    entities: BTreeMap<EntityKey, (u64, ContactEntity)>,
    policy: Policy,
    ids: IdStream,
    records: Vec<Vec<u8>>,
}

impl World {
    fn decide(&mut self, command: &Command) -> Decision<Contact> {
        let keys = Contact::keys(command);
        let views = keys.iter().map(|key| {
            let known = self.entities.get(key);
            View {
                key: *key,
                entity: known.map(|(_, entity)| entity),
                next_version: known.map_or(1, |(version, _)| version + 1),
            }
        });
        let entities = Entities::new(views.collect());
        let mut context = Context {
            now: NOW,
            ids: &mut self.ids,
            policy: &self.policy,
            full: false,
            part_full: false,
            clock_suspect: false,
        };
        Contact::decide(&entities, command, &mut context)
    }

    /// Decides a command and keeps its record.
    fn take(&mut self, mut command: Command) {
        if let Some(look_up) = Contact::look_up(&command) {
            let found = self.decide(&look_up).reply;
            match Contact::looked_up(command, found) {
                Ok(complete) => command = complete,
                Err(_) => return,
            }
        }
        let decided = self.decide(&command);
        let mut entries = Vec::new();
        for (key, event) in &decided.events {
            let known = self.entities.contains_key(key);
            let fresh = (0, Contact::empty(key.kind));
            let (version, entity) = self.entities.entry(*key).or_insert(fresh);
            *version += 1;
            Contact::apply(entity, event);
            entries.push(Entry {
                key: *key,
                version: *version,
                change: if known {
                    Change::Event
                } else {
                    Change::Created
                },
                event: Some(event),
            });
        }
        let head = self.head(entries.len());
        let mut encoder = RecordEncoder::default();
        let record = encoder.encode::<Contact>(head, &entries, decided.note.as_ref());
        self.records
            .push(record.expect("it can be encoded").to_vec());
    }

    fn head(&self, entries: usize) -> RecordHead {
        RecordHead {
            format: Contact::FORMAT,
            product: Contact::PRODUCT,
            space: fixture::SPACE,
            time: NOW,
            policy: 1,
            entries: u32::try_from(entries).expect("they are few"),
        }
    }

    /// A record that forgets every entity.
    fn purge(&mut self) {
        let entries = self.entities.iter().map(|(key, (version, _))| Entry {
            key: *key,
            version: version + 1,
            change: Change::Purged,
            event: None,
        });
        let entries: Vec<Entry<&<Contact as Machine>::Event>> = entries.collect();
        let head = self.head(entries.len());
        let mut encoder = RecordEncoder::default();
        let record = encoder.encode::<Contact>(head, &entries, None);
        self.records
            .push(record.expect("it can be encoded").to_vec());
    }
}

/// The records of some decisions; what they leave goes into slices.
fn decisions() -> Vec<Vec<u8>> {
    let mut world = World {
        entities: BTreeMap::new(),
        policy: fixture::policy(),
        ids: IdStream::new([1; 32]),
        records: Vec::new(),
    };
    for command in commands() {
        world.take(command);
    }
    for (number, (key, (version, entity))) in world.entities.iter().enumerate() {
        let kept = (*key, *version, entity.clone());
        let slice = interlock_actors::testing::encode::<Contact>(&[kept]);
        let name = format!("{}-{number:02}", key.kind.name());
        put("snapshot", &name, 1, &slice);
    }
    let head = SnapshotHead {
        floor: 300,
        time: NOW,
        format: Contact::FORMAT,
        product: Contact::PRODUCT,
    };
    let head = postcard::to_allocvec(&head).expect("it can be encoded");
    put("snapshot", "head", 0, &head);
    put("snapshot", "head-that-ends-early", 0, &head[..2]);
    put("snapshot", "nothing", 1, &[]);
    put("snapshot", "no-entity", 1, &[99; 40]);
    world.purge();
    world.records
}

fn commands() -> Vec<Command> {
    let outbound = || fixture::check().to("ana").on("whatsapp");
    let other = |route, body| fixture::command(AGENTS, route, body);
    let message = fixture::sent("ana", "closing", NOW);
    let mut commands = vec![
        outbound()
            .purpose("marketing")
            .through("wa_gateway")
            .effect("e1")
            .command(),
        outbound()
            .about("case")
            .task("petition")
            .command()
            .keyed("k1", "one"),
        outbound().inbound().command().keyed("k2", "two"),
        fixture::contact_made("ana", "service", None),
        fixture::reserve("e2").keyed("k3", "three"),
        fixture::settle("e2", 1, Settlement::Done),
        fixture::declare_effect("e1", 1, Settlement::UnknownOutcome),
        fixture::suppress("ana", "any").command(),
        fixture::lift("ana", "any", None),
        fixture::message("ana", "whatsapp", NOW),
        fixture::claim_on("ana", "closing")
            .leaving("support")
            .command()
            .keyed("k4", "four"),
        fixture::claim_on("ana", "other").level("closed").declared(),
        fixture::claim(Target::Object(hash("case")), "closing").seen_by("panel", Some(NOW)),
        fixture::lock("case", "petition", "closing").command(),
        fixture::release(fixture::lock("case", "petition", "closing").new_id, 1),
        fixture::offer("ana", "o1", "offer")
            .score(-5)
            .until(NOW.plus_s(60))
            .command(),
        fixture::end_offer(Some("ana"), "o1", CommitmentState::Accepted),
        fixture::promise("ana", "call", Some(NOW.plus_s(60)), PromiseState::Open),
        fixture::hand_over("bea", "h1", "desk")
            .command()
            .keyed("k5", "five"),
        fixture::accept(Route::Declare, "h1"),
        fixture::close(Route::Declare, "h1", Some("opt_out")),
        other(Route::Batch, Body::NoteMessage(message)),
    ];
    commands.extend(rarer());
    commands
}

/// Commands without a short form.
fn rarer() -> Vec<Command> {
    let other = |route, body| fixture::command(AGENTS, route, body);
    let (admission, hold) = (Id([21; 16]), Id([22; 16]));
    let target = HoldTarget::Customer(hash("bea"));
    let admit = Body::Admit(Admit {
        operation: Text::from("registry_search"),
        target: Target::Customer(hash("ana")),
        units: Some(3),
        new_id: admission,
    });
    let settle = Body::SettleAdmission(SettleAdmission {
        admission,
        settlement: AdmissionSettlement::Done { cost: 4 },
        place: AdmissionPlace::ToFind,
    });
    let place = Body::PlaceHold(PlaceHold {
        target,
        new_id: hold,
        handoffs: vec![Id(hash("h1").0)],
    });
    let release = Body::ReleaseHold(ReleaseHold {
        hold,
        handoffs: Vec::new(),
        place: HoldPlace::ToFind,
    });
    let forget = Body::ForgetCustomer(ForgetCustomer {
        customer: hash("cleo"),
        new_id: Id([23; 16]),
        offers: Vec::new(),
        handoffs: Vec::new(),
    });
    let end_run = Body::EndReport(EndReport {
        id: Id([24; 16]),
        summary: Some(vec![1, 2, 3]),
    });
    let end_fact = Body::EndFact(EndFact {
        object: hash("case"),
        keys: Some(Vec::new()),
    });
    vec![
        other(Route::Admissions, admit).keyed("k6", "six"),
        other(Route::SettleAdmission, settle),
        other(Route::LegalHolds, place),
        other(Route::LegalHolds, release),
        fixture::message("cleo", "whatsapp", NOW),
        other(Route::Forget, forget).keyed("k7", "seven"),
        other(
            Route::Shadow,
            Body::RequestReport(RequestReport { days: 30 }),
        ),
        other(Route::Shadow, end_run),
        other(Route::EndFact, end_fact),
    ]
}

/// Journal parts around records.
fn parts(records: &[Vec<u8>]) {
    let append = |group: u16, records: &[Vec<u8>]| Append {
        group: Group(group),
        epoch: Epoch(2),
        sequence: Sequence(7),
        partitions: vec![Partition(group * 256), Partition(group * 256 + 9)],
        records: records.concat(),
    };
    let commit = |appends| Commit {
        appends,
        ..Commit::default()
    };
    let two = commit(vec![append(1, &records[..1]), append(2, &records[1..2])]);
    put("journal", "part-of-two", 0, &encode_record(&two));
    put(
        "journal",
        "part-of-none",
        0,
        &encode_record(&Commit::default()),
    );
    let empty = encode_record(&commit(vec![append(3, &[])]));
    put("journal", "part-without-records", 0, &empty);
    put("journal", "part-that-ends-early", 0, &empty[..20]);
    put(
        "journal",
        "part-of-too-many",
        0,
        &[[255; 2].as_slice(), &[0; 12]].concat(),
    );
    put("journal", "several-records", 1, &records[..4].concat());
    put("journal", "record-that-ends-early", 1, &records[0][..30]);
}

/// Values that are cut and damaged, and chunks that agree or do not.
fn chunks() {
    for how in 0..5 {
        let input = [0x27, 0x10, how, 0, 1, 0, 0, 0, 99, 1, 7, 8, 9];
        put("journal", &format!("damage-{how}"), 2, &input);
    }
    put(
        "journal",
        "copied-over-itself",
        2,
        &[0, 9, 2, 0, 0, 0, 0, 0, 0, 1],
    );
    put(
        "journal",
        "chunks-that-agree",
        3,
        &[0, 3, 2, 2, 1, 2, 0, 3, 2, 1, 3],
    );
    put(
        "journal",
        "chunks-that-do-not",
        3,
        &[0, 3, 2, 2, 1, 2, 0, 4, 2, 1, 3],
    );
    put("journal", "no-chunks", 3, &[]);
}

fn cursors() {
    let place = Place {
        generation: 3,
        after: u64::MAX,
        began: 5,
        current_at: NOW,
    };
    let text = cursor_text(&PreparedKey::new(&[7; 32]), SourceId(1), place);
    put("cursor", "ours", 0, text.as_bytes());
    let foreign = cursor_text(&PreparedKey::new(&[8; 32]), SourceId(1), place);
    put("cursor", "of-another-space", 0, foreign.as_bytes());
    put("cursor", "not-base64", 0, b"%%%%");
    put("cursor", "too-short", 0, b"AAAA");
    put("cursor", "not-utf8", 0, b"\xff");
    put(
        "cursor",
        "flipped",
        1,
        &[[1; 28].as_slice(), &[0, 0, 7, 1]].concat(),
    );
    put(
        "cursor",
        "cut",
        1,
        &[[2; 28].as_slice(), &[1, 0, 7]].concat(),
    );
    put(
        "cursor",
        "longer",
        1,
        &[[3; 28].as_slice(), &[2, b'A']].concat(),
    );
}

fn tokens() {
    let key = TokenKey::from_seed(&[3; 32]);
    let claims = Claims {
        kid: "key_in_use".to_owned(),
        space: "0192f5a0-0000-7000-8000-00000000a004".to_owned(),
        jti: "0199a3b2-5c00-7a1e-8f3d-2b6c0e4a9d01".to_owned(),
        purpose: "marketing".to_owned(),
        channel: "whatsapp".to_owned(),
        rcpt: keyed_hash(&[5; 32], "phone:+5511987654321"),
        gateway: "wa_gateway".to_owned(),
        iat: 1_790_000_000,
        exp: 1_790_000_120,
    };
    let token = key.sign(&claims);
    put("token", "valid", 0, token.as_bytes());
    let foreign = TokenKey::from_seed(&[4; 32]).sign(&claims);
    put("token", "of-another-key", 0, foreign.as_bytes());
    put(
        "token",
        "of-another-version",
        0,
        token.replace("nct1", "nct2").as_bytes(),
    );
    put("token", "four-parts", 0, format!("{token}.x").as_bytes());
    put("token", "two-parts", 0, b"nct1.e30");
    put("token", "no-claims", 0, b"nct1.e30.AAAA");
    put("token", "not-utf8", 0, b"\xff");
    // Begins 10 s ago, lives 120 s; then each rule broken alone.
    put("token", "signed", 1, &[0, 0xfd, 0x80, 0x1e, 0]);
    for rule in 0..8_u8 {
        let input = [1 << rule, 0xfd, 0x80, 0x1e, 0];
        put("token", &format!("signed-breaks-{rule}"), 1, &input);
    }
    put(
        "token",
        "signed-by-a-retired-key",
        1,
        &[3, 0xfd, 0x80, 0x1e, 0],
    );
    put("token", "signed-for-too-long", 1, &[0, 0xfd, 0x80, 0x7f, 0]);
    put("token", "signed-and-over", 1, &[0, 0xc0, 0, 0x1e, 0]);
    put("token", "signed-for-later", 1, &[0, 0x40, 0, 0x1e, 0]);
    put(
        "token",
        "flipped",
        2,
        &[0, 0xfd, 0x80, 0x1e, 0, 0, 40, 0, 1],
    );
    put("token", "shorter", 2, &[0, 0xfd, 0x80, 0x1e, 0, 0, 40, 1]);
    put(
        "token",
        "longer",
        2,
        &[0, 0xfd, 0x80, 0x1e, 0, 1, 150, 2, b'A'],
    );
}
