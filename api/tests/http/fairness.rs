//! What a flood of batches leaves to another space: the routes on one thread, without sockets, counted
//! in batches and never in time.

use std::cell::Cell;
use std::rc::Rc;

use actix_web::body::{BoxBody, to_bytes};
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, rt, web};
use interlock_api::limits::ApiLimits;
use interlock_api::lines::Lines;
use interlock_api::server::routes;
use serde_json::{Value, json};

use crate::node::{BATCH, CHECK, KEY_A, KEY_OTHER, Node, check};
use crate::world::{Mode, World};

/// A space that asked once counts as asking for the whole test.
fn limits() -> ApiLimits {
    ApiLimits {
        batches_bytes_per_space_max: 16 * 1024,
        batches_waiting_per_space_max: 20,
        space_asks_ms: u64::MAX,
        ..ApiLimits::default()
    }
}

/// The routes of one worker.
async fn worker(
    world: &World,
    limits: ApiLimits,
) -> impl Service<actix_http::Request, Response = ServiceResponse<BoxBody>, Error = actix_web::Error>
+ use<> {
    let lines = web::Data::new(Lines::new(&limits));
    let (state, _) = Node::state(world, limits, false, Node::USUAL);
    let state = web::Data::new(state);
    let app = App::new()
        .app_data(lines)
        .configure(|config| drop(routes(config, &state)));
    init_service(app).await
}

fn asks(key: &str, path: &str, body: &Value) -> actix_http::Request {
    TestRequest::post()
        .uri(path)
        .insert_header(("Authorization", format!("Bearer {key}")))
        .set_json(body)
        .to_request()
}

/// Checks of as many customers.
fn batch(first: usize) -> Value {
    let one = |number: usize| {
        let mut one = check();
        one["subject"]["value"] = json!(format!("+5511{:09}", first + number));
        one
    };
    json!({ "checks": (0..500).map(one).collect::<Vec<_>>() })
}

/// Makes all that is ready go on, and all that this makes ready.
async fn settle() {
    for _ in 0..2_000 {
        tokio::task::yield_now().await;
    }
}

/// Pitfall 29.
#[test]
fn a_single_check_is_answered_before_any_of_the_batches_that_came_earlier() {
    rt::System::new().block_on(async {
        let world = World::new();
        let worker = Rc::new(worker(&world, limits()).await);
        let ask = async |key: &str, path: &str, body: &Value| {
            let answer = worker.call(asks(key, path, body)).await;
            answer.unwrap().status()
        };
        assert_eq!(ask(KEY_OTHER, CHECK, &check()).await, StatusCode::OK);
        let answered = Rc::new(Cell::new(0));
        let flood: Vec<_> = (0..16)
            .map(|number| {
                let (worker, answered) = (Rc::clone(&worker), Rc::clone(&answered));
                rt::spawn(async move {
                    let request = asks(KEY_A, BATCH, &batch(500 * number));
                    let answer = worker.call(request).await.unwrap();
                    assert_eq!(answer.status(), StatusCode::OK);
                    answered.set(answered.get() + 1);
                })
            })
            .collect();
        for place in 0..8 {
            // Each batch goes on as far as it can before it makes way.
            tokio::task::yield_now().await;
            assert_eq!(ask(KEY_OTHER, CHECK, &check()).await, StatusCode::OK);
            let passed = answered.get();
            assert_eq!(passed, 0, "{passed} batches passed single check {place}");
        }
        for batch in flood {
            batch.await.unwrap();
        }
        assert_eq!(answered.get(), 16, "the flood is answered too");
    });
}

/// Whatever a space sends, one batch of it is inside at a time while another space asks; what waits
/// beyond the bound is refused before its body is read.
#[test]
fn batches_of_a_space_wait_in_a_bounded_line() {
    rt::System::new().block_on(async {
        let world = World::new();
        let worker = Rc::new(worker(&world, limits()).await);
        let other = worker.call(asks(KEY_OTHER, CHECK, &check())).await.unwrap();
        assert_eq!(other.status(), StatusCode::OK);
        world.mode(Mode::Silent);
        let send = |number: usize| {
            let worker = Rc::clone(&worker);
            rt::spawn(async move {
                let request = asks(KEY_A, BATCH, &batch(500 * number));
                drop(worker.call(request).await);
            })
        };
        let mut flood: Vec<_> = (0..21).map(send).collect();
        settle().await;
        assert_eq!(world.silent(), (1, 0), "one batch of the flood is inside");
        let refused = worker
            .call(asks(KEY_A, BATCH, &json!({"no": "body"})))
            .await;
        let refused = refused.map_or_else(
            |error| error.error_response(),
            |answer| answer.into_parts().1,
        );
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(refused.headers().get("retry-after").unwrap(), "1");
        // A client that goes gives its place to the next.
        flood.swap_remove(0).abort();
        settle().await;
        assert_eq!(world.silent(), (2, 1));
        for batch in flood {
            batch.abort();
        }
        settle().await;
        world.mode(Mode::Decide);
        let after = worker.call(asks(KEY_A, BATCH, &batch(0))).await.unwrap();
        assert_eq!(after.status(), StatusCode::OK, "nothing is left of them");
    });
}

/// Beside another space a batch is decided in parts. What was decided before a part was refused is told;
/// under a key the repeat tells it.
#[test]
fn what_is_refused_after_a_part_is_answered_in_place() {
    rt::System::new().block_on(async {
        let world = World::new();
        let worker = worker(&world, limits()).await;
        let ask = async |keyed: bool| {
            let mut request = TestRequest::post()
                .uri(BATCH)
                .insert_header(("Authorization", format!("Bearer {KEY_A}")))
                .set_json(batch(0));
            if keyed {
                request = request.insert_header(("Idempotency-Key", "parts"));
            }
            let answer = worker.call(request.to_request()).await;
            let answer = match answer {
                Ok(answer) => answer.into_parts().1,
                Err(error) => error.error_response(),
            };
            let status = answer.status();
            let body = to_bytes(answer.into_body()).await.unwrap();
            (status, serde_json::from_slice::<Value>(&body).unwrap())
        };
        let decided = |answer: &Value| {
            let results = answer["results"].as_array().unwrap();
            assert_eq!(results.len(), 500);
            let is_decided = |result: &&Value| result["reasons"] != json!(["unavailable"]);
            let first = results.iter().take_while(is_decided).count();
            assert_eq!(results.iter().filter(is_decided).count(), first);
            first
        };
        world.once(Mode::Decide, Mode::Overloaded);
        let (status, answer) = ask(false).await;
        assert_eq!(
            (status, decided(&answer)),
            (StatusCode::OK, 500),
            "it is alone"
        );
        world.mode(Mode::Decide);
        let other = worker.call(asks(KEY_OTHER, CHECK, &check())).await.unwrap();
        assert_eq!(other.status(), StatusCode::OK);
        world.once(Mode::Decide, Mode::Overloaded);
        let (status, answer) = ask(false).await;
        assert_eq!((status, decided(&answer)), (StatusCode::OK, 125));
        world.once(Mode::Decide, Mode::Overloaded);
        let (status, problem) = ask(true).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("was decided and recorded"), "{detail}");
        assert!(!detail.contains("nothing"), "{detail}");
        world.mode(Mode::Decide);
        let (status, answer) = ask(true).await;
        assert_eq!((status, decided(&answer)), (StatusCode::OK, 500));
    });
}
