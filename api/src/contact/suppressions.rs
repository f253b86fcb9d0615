//! `GET /v1/suppressions` and `GET /v1/suppressions/salt` (§15).
//!
//! Here: which page a cursor leads to, and how an entry is shown to the source that reads: keyed with
//! its own salt. A read waits for the last change that existed when it came, so what was answered to
//! anybody is in the next page. Not here: the rows (`list`).

use std::borrow::Cow;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Body, Route};
use interlock_domain::contact::reply::Reply;
use interlock_domain::contact::window::Window;
use interlock_domain::time::Timestamp;
use interlock_wire::contact::declare::ContactWindow;
use interlock_wire::contact::suppressions::{Suppression, SuppressionPage, SuppressionSalt};
use interlock_wire::problem::Code;
use interlock_wire::read::List;
use interlock_wire::value::{TimeOfDay, Weekday, Zone};

use crate::contact::{ask, command, destination, refused};
use crate::decider::Decider;
use crate::directory::Caller;
use crate::extract;
use crate::hashing::PreparedKey;
use crate::list::cursor::Cursor;
use crate::list::salt::Salt;
use crate::list::{Page, Position};
use crate::problem::Failure;
use crate::query;
use crate::signing::hyphenated;
use crate::state::AppState;

/// The most entries of a page, and as many as one has unasked.
const LIMIT_MAX: usize = 200;
/// The longest cursor that is looked at.
const CURSOR_MAX: usize = 200;

const DAY_S: i64 = 86_400;

/// The calling source's salt.
pub(crate) async fn salt<D: Decider>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::coordinating(&request, &state.directory)?;
    let source = caller.source();
    let salt = Salt::of(caller.space.secret.prepared(), source);
    let answer = SuppressionSalt {
        salt_id: &salt.id,
        salt: salt.bytes,
        valid_from: source.salt.since.0,
    };
    let mut body = Vec::with_capacity(160);
    answer.write(&mut body);
    Ok(ask::json(StatusCode::OK, body))
}

/// A page of the list.
pub(crate) async fn get<D: Decider>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let caller = extract::coordinating(&request, &state.directory)?;
    let wanted = Wanted::read(request.query_string())?;
    let sent = wanted.cursor.as_deref().map(|text| {
        let secret = caller.space.secret.prepared();
        let cursor = Cursor::read(secret, caller.key.source.id, text);
        cursor.ok_or_else(|| {
            Failure::invalid(
                "`cursor` must be the `next_cursor` of a page that this source read; leave it out to \
                 read the whole list",
            )
        })
    });
    let sent = sent.transpose()?;
    let read = command::of(&caller, Route::Suppressions, None, Body::ReadFeed);
    let deadline = state.limits.request_deadline_ms;
    let reply = ask::one(&state, &caller, read, started, deadline, 0).await?;
    let Reply::Feed(last) = reply else {
        return Err(refused::reply(&reply, &state.limits));
    };
    let space = caller.space.id;
    let held = state.list.wait_for(space, last);
    let held = tokio::time::timeout(started.left(deadline), held).await;
    held.map_err(|_| not_read_yet(state.limits.retry_after_s))?;
    let now = (state.now)();
    let walk = Walk::of(&caller, sent, last, now);
    let page = state.list.page(space, walk.from, wanted.limit, now);
    let body = walk
        .written(&caller, &page, now)
        .ok_or_else(refused::broken)?;
    Ok(ask::json(StatusCode::OK, body))
}

fn not_read_yet(retry_after_s: u32) -> Failure {
    Failure::new(
        Code::CoordinationUnavailable,
        "the node has not read its suppression list again yet; send this request again later",
    )
    .retry_after(retry_after_s)
}

/// What a request for a page says.
struct Wanted {
    cursor: Option<String>,
    limit: usize,
}

impl Wanted {
    fn read(query: &str) -> Result<Self, Failure> {
        query::only(query, &["cursor", "limit"])?;
        let pairs = web::Query::<Vec<(String, String)>>::from_query(query);
        let pairs =
            pairs.map_err(|_| Failure::invalid("the query must be pairs of name and value"))?;
        let (mut cursor, mut limit) = (None, None);
        for (name, value) in pairs.into_inner() {
            let one = match name.as_str() {
                "cursor" => &mut cursor,
                _ => &mut limit,
            };
            if one.replace(value).is_some() {
                return Err(Failure::invalid(
                    "`cursor` and `limit` must be sent once each",
                ));
            }
        }
        if cursor.as_ref().is_some_and(|text| text.len() > CURSOR_MAX) {
            return Err(Failure::invalid(
                "`cursor` must have at most 200 characters",
            ));
        }
        let limit = match limit {
            None => LIMIT_MAX,
            Some(text) => {
                let limit = text
                    .parse()
                    .ok()
                    .filter(|limit| (1..=LIMIT_MAX).contains(limit));
                limit.ok_or_else(|| {
                    Failure::invalid("`limit` must be a whole number from 1 to 200")
                })?
            }
        };
        let cursor = cursor.filter(|text: &String| !text.is_empty());
        Ok(Self { cursor, limit })
    }
}

/// Where a reader is in the list.
struct Walk {
    from: Position,
    /// When it last knew every change, or began.
    current_at: Timestamp,
    /// It begins again although it has a copy.
    reset: bool,
}

impl Walk {
    /// Goes on at the cursor, or begins at the list's number `last`.
    fn of(caller: &Caller, sent: Option<Cursor>, last: u64, now: Timestamp) -> Self {
        let begins = Self {
            from: Position {
                after: 0,
                began: last,
            },
            current_at: now,
            reset: sent.is_some(),
        };
        let Some(cursor) = sent else {
            return begins;
        };
        let kept_s = i64::from(caller.space.policy.keep_changes_days) * DAY_S;
        let goes_on = cursor.generation == caller.source().salt.generation
            && now < cursor.current_at.plus_s(kept_s)
            // A list that was restored from an older copy knows less than its reader.
            && cursor.position.after.max(cursor.position.began) <= last;
        if !goes_on {
            return begins;
        }
        Self {
            from: cursor.position,
            current_at: cursor.current_at,
            reset: false,
        }
    }

    /// The page's body; `None` when a sealed destination cannot be opened, which is a bug.
    fn written(&self, caller: &Caller, page: &Page, now: Timestamp) -> Option<Vec<u8>> {
        let secret = caller.space.secret.prepared();
        let source = caller.source();
        let salt = Salt::of(secret, source);
        let next = Cursor {
            generation: source.salt.generation,
            position: Position {
                after: page.after,
                began: self.from.began,
            },
            // What a reader has not seen yet may be as old as its last full view.
            current_at: if page.ended { now } else { self.current_at },
        };
        let next = next.text(secret, source.id);
        let ids: Vec<String> = page
            .rows
            .iter()
            .map(|row| hyphenated(&row.entry.entry.0))
            .collect();
        let keyed = PreparedKey::new(&salt.bytes);
        let items = page.rows.iter().zip(&ids).map(|(row, id)| {
            let entry = &row.entry;
            Some(Suppression {
                id,
                key: destination::key(secret, row.customer, &entry.destination, &keyed)?,
                purpose: &entry.purpose_name,
                channel: entry.channel_name.as_deref(),
                since: entry.since.0,
                until: entry.until.map(|until| until.0),
                window: entry.window.as_ref().map(hours),
                removed: entry.lifted.is_some(),
            })
        });
        let answer = SuppressionPage {
            salt_id: &salt.id,
            items: items.collect::<Option<_>>()?,
            next_cursor: Some(&next),
            reset: self.reset,
        };
        let mut body = Vec::with_capacity(256 + 256 * page.rows.len());
        answer.write(&mut body);
        Some(body)
    }
}

/// A window as the client reads it.
fn hours(window: &Window) -> ContactWindow<'_> {
    let days = window.days();
    ContactWindow {
        from: TimeOfDay(Cow::Owned(window.from())),
        to: TimeOfDay(Cow::Owned(window.to())),
        tz: Zone(Cow::Borrowed(window.tz())),
        days: days.map(|days| List(days.into_iter().map(Weekday).collect())),
    }
}
