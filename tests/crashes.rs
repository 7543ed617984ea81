//! Promise: a crash at any moment never makes a purchase twice, and earlier confirmations and answers are still known.

use crate::support::redis::{Redis, connected};
use crate::support::shop::{
    ADA, answering, assert_fault, carried_out, code, desk_before, held, is_replay, item, open, order, token, told,
};
use crate::support::{Answer, Ask, Desk, Dir, Gate, Origin, Reply, Request, SOON, Setup, Via, eventually};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Until nobody can still be at work on a call of five seconds.
const SETTLED: Duration = Duration::from_secs(45);
/// From one moment of dying to the next.
const STEP: Duration = Duration::from_micros(1200);

fn buy() -> Ask {
    item("buy", "book").key("k-1").bearer(ADA)
}

/// What outlives a desk.
enum Kept {
    File(Dir),
    Redis(Redis),
}

impl Kept {
    async fn both() -> [Kept; 2] {
        [Kept::File(Dir::new()), Kept::Redis(Redis::start().await)]
    }

    fn setup(&self, origin: &Origin) -> Setup {
        let url = match self {
            Kept::File(dir) => format!("file:{}", dir.path().display()),
            Kept::Redis(redis) => redis.url(),
        };
        desk_before(origin).set("store", &format!("url = \"{url}\""))
    }

    fn name(&self) -> &'static str {
        if matches!(self, Kept::File(_)) { "file" } else { "Redis" }
    }
}

async fn killed(mut desk: Desk) {
    desk.signal(libc::SIGKILL);
    desk.wait_exit(SOON).await;
}

async fn confirmed(desk: &Desk) -> Ask {
    buy().confirmed(&token(&desk.ask(Via::H1, buy()).await))
}

/// Sends a call and leaves the desk in the middle of it.
async fn in_mid_call(desk: &Desk, origin: &Origin, ask: &Ask) {
    let before = carried_out(origin).len();
    let mut conn = desk.conn().await;
    conn.send(ask.bytes()).await;
    eventually("the origin has it", SOON, async || carried_out(origin).len() > before).await;
    // The call goes on without its client.
    std::mem::forget(conn);
}

/// An origin that says nothing, or a head alone, until the gate is open.
async fn holding(gate: &Gate, head_first: bool) -> Origin {
    let gate = gate.clone();
    answering(move |_: &Request, order: Reply| match head_first {
        true => Reply { pieces: Vec::new(), ..order.clone() }
            .then("{\"order\":")
            .wait(&gate)
            .then("\"o-1\"}")
            .chunked()
            .into(),
        false => held(&gate, &order),
    })
    .await
}

/// The retry gets "outcome unknown", soon or at last, and from then on always.
async fn told_unknown(desk: &Desk, ask: &Ask, within: Duration, what: &str) {
    eventually(what, within, async || {
        let (status, name) = told(&desk.ask(Via::H1, ask.clone()).await);
        assert_eq!(status, 409, "{what}: {name}");
        assert!(["idempotency_in_flight", "outcome_unknown"].contains(&name.as_str()), "{what}: {name}");
        name == "outcome_unknown"
    })
    .await;
    for _ in 0..3 {
        assert_fault(&desk.ask(Via::H1, ask.clone()).await, 409, "outcome_unknown", what);
    }
}

#[tokio::test]
async fn crashes_between_the_question_and_the_confirmed_call_cost_nothing() {
    for kept in Kept::both().await {
        let origin = open().await;
        let setup = kept.setup(&origin);
        let desk = setup.clone().start().await;
        let ask = confirmed(&desk).await;
        killed(desk).await;
        let desk = setup.clone().start().await;
        order(&desk.ask(Via::H1, ask.clone()).await, kept.name());
        killed(desk).await;
        let desk = setup.start().await;
        assert!(is_replay(&desk.ask(Via::H1, ask).await), "{}", kept.name());
        assert_eq!(carried_out(&origin).len(), 1, "{}", kept.name());
    }
}

#[tokio::test]
async fn crashes_after_the_answer_leave_it_to_be_replayed() {
    for kept in Kept::both().await {
        let origin = open().await;
        let setup = kept.setup(&origin);
        let desk = setup.clone().start().await;
        let spent = token(&desk.ask(Via::H1, buy()).await);
        let ask = buy().confirmed(&spent);
        let first = desk.ask(Via::H1, ask.clone()).await;
        killed(desk).await;
        let desk = setup.start().await;
        let again = desk.ask(Via::H1, ask.clone()).await;
        assert!(is_replay(&again), "{}: {}", kept.name(), again.text());
        assert_eq!((again.status, again.text()), (first.status, first.text()), "{}", kept.name());
        let other = desk.ask(Via::H1, item("buy", "other").key("k-1").bearer(ADA)).await;
        assert_fault(&other, 422, "idempotency_key_reused", kept.name());
        let again = desk.ask(Via::H1, item("buy", "book").key("k-2").bearer(ADA).confirmed(&spent)).await;
        assert_fault(&again, 428, "confirmation_invalid", kept.name());
        assert_eq!(carried_out(&origin).len(), 1, "{}", kept.name());
    }
}

#[tokio::test]
async fn crashes_in_mid_call_leave_an_unknown_outcome_in_a_file() {
    for head_first in [false, true] {
        let (gate, dir) = (Gate::closed(), Kept::File(Dir::new()));
        let origin = holding(&gate, head_first).await;
        let setup = dir.setup(&origin);
        let desk = setup.clone().start().await;
        let ask = confirmed(&desk).await;
        in_mid_call(&desk, &origin, &ask).await;
        killed(desk).await;
        let desk = setup.clone().start().await;
        told_unknown(&desk, &ask, SOON, "after the restart").await;
        assert_eq!(desk.ask(Via::H1, buy()).await.status, 409, "without its token, still");
        gate.open();
        told_unknown(&desk, &ask, SOON, "after the origin's answer").await;
        killed(desk).await;
        told_unknown(&setup.start().await, &ask, SOON, "after the second restart").await;
        assert_eq!(carried_out(&origin).len(), 1, "head first: {head_first}");
    }
}

#[tokio::test]
async fn crashes_in_mid_call_leave_an_unknown_outcome_in_redis() {
    for head_first in [false, true] {
        let (gate, kept) = (Gate::closed(), Kept::Redis(Redis::start().await));
        let origin = holding(&gate, head_first).await;
        let setup = kept.setup(&origin);
        let (a, b) = (connected(&setup).await, connected(&setup).await);
        let ask = confirmed(&a).await;
        in_mid_call(&a, &origin, &ask).await;
        assert_fault(&b.ask(Via::H1, ask.clone()).await, 409, "idempotency_in_flight", "at the other, while it runs");
        killed(a).await;
        let at_once = b.ask(Via::H1, ask.clone()).await;
        assert_eq!(at_once.status, 409, "at the other, at once: {}", at_once.text());
        gate.open();
        told_unknown(&b, &ask, SETTLED, "at the other, later").await;
        let again = connected(&setup).await;
        told_unknown(&again, &ask, SOON, "at the first, restarted").await;
        assert_eq!(carried_out(&origin).len(), 1, "head first: {head_first}");
    }
}

#[tokio::test]
async fn crashes_of_one_desk_are_known_to_the_other_on_the_same_file() {
    let (gate, dir) = (Gate::closed(), Kept::File(Dir::new()));
    let origin = holding(&gate, false).await;
    let setup = dir.setup(&origin);
    let (a, b) = (setup.clone().start().await, setup.clone().start().await);
    let ask = confirmed(&a).await;
    in_mid_call(&a, &origin, &ask).await;
    assert_fault(&b.ask(Via::H1, ask.clone()).await, 409, "idempotency_in_flight", "while it runs");
    // One that starts beside a call under way does not take it for a wreck.
    let c = setup.clone().start().await;
    assert_fault(&c.ask(Via::H1, ask.clone()).await, 409, "idempotency_in_flight", "at one that starts meanwhile");
    killed(a).await;
    told_unknown(&b, &ask, SETTLED, "at the other").await;
    told_unknown(&c, &ask, SOON, "at the third").await;
    gate.open();
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test]
async fn crashes_do_not_stop_a_replica_from_replaying() {
    let (origin, kept) = (open().await, Kept::Redis(Redis::start().await));
    let setup = kept.setup(&origin);
    let (a, b) = (connected(&setup).await, connected(&setup).await);
    let ask = confirmed(&a).await;
    let first = b.ask(Via::H1, ask.clone()).await;
    order(&first, "confirmed at the other");
    killed(b).await;
    let again = a.ask(Via::H1, ask).await;
    assert!(is_replay(&again) && again.text() == first.text(), "{}", again.text());
    assert_eq!(carried_out(&origin).len(), 1);
}

#[tokio::test]
async fn crashes_are_no_matter_to_a_site_that_takes_it_twice() {
    for kept in Kept::both().await {
        let (gate, first) = (Gate::closed(), AtomicBool::new(true));
        let origin = {
            let gate = gate.clone();
            answering(move |request, order| -> Answer {
                let holds = request.target == "/api/book" && first.swap(false, Ordering::Relaxed);
                if holds { held(&gate, &order) } else { order.into() }
            })
            .await
        };
        let setup = kept.setup(&origin);
        let desk = setup.clone().start().await;
        let ask = item("book", "book").key("k-1").bearer(ADA);
        in_mid_call(&desk, &origin, &ask).await;
        killed(desk).await;
        let desk = setup.start().await;
        eventually("carried out again", SETTLED, async || {
            let again = desk.ask(Via::H1, ask.clone()).await;
            assert!(again.status == 201 || code(&again) == "idempotency_in_flight", "{}", again.text());
            again.status == 201
        })
        .await;
        assert!(is_replay(&desk.ask(Via::H1, ask).await));
        assert_eq!(carried_out(&origin).len(), 2, "{}", kept.name());
        gate.open();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashes_at_any_moment_never_buy_twice() {
    for kept in Kept::both().await {
        let slowly = |order: Reply| Reply { pieces: Vec::new(), ..order.clone() }.pause(STEP * 5).then(order.whole());
        let origin = answering(move |_, order| slowly(order).chunked().into()).await;
        let setup = kept.setup(&origin);
        let mut seen = HashSet::new();
        for moment in 0..18 {
            let desk = setup.clone().start().await;
            let key = format!("m-{moment}");
            let ask = item("buy", &key).key(&key).bearer(ADA);
            let ask = ask.clone().confirmed(&token(&desk.ask(Via::H1, ask).await));
            let mut conn = desk.conn().await;
            conn.send(ask.bytes()).await;
            tokio::time::sleep(STEP * moment).await;
            killed(desk).await;
            let heard = conn.try_response("POST", SOON).await.ok().filter(|r| r.complete && r.status == 201);
            let desk = setup.clone().start().await;
            let what = format!("{}, killed after {:?}", kept.name(), STEP * moment);
            let again = desk.ask(Via::H1, ask.clone()).await;
            let body = format!("{{\"item\":\"{key}\"}}");
            let bought = || carried_out(&origin).iter().filter(|r| r.body == body.as_bytes()).count();
            match (&heard, again.status) {
                // A caller that got the answer gets the same one again.
                (Some(first), _) => {
                    assert!(is_replay(&again) && again.text() == first.text(), "{what}: {}", again.text())
                }
                (None, 201) => assert_eq!(bought(), 1, "{what}"),
                (None, status) => assert_eq!(status, 409, "{what}: {}", again.text()),
            }
            desk.ask(Via::H1, ask).await;
            assert!(bought() <= 1, "{what}: {} times", bought());
            seen.insert((heard.is_some(), again.status));
        }
        assert!(seen.len() >= 2, "{}: the kills met different moments: {seen:?}", kept.name());
    }
}

#[tokio::test]
async fn crashes_of_the_store_stop_what_needs_it_and_nothing_else() {
    for on_error in ["local", "allow", "deny"] {
        let (origin, mut redis) = (open().await, Redis::start().await);
        let store = format!("url = \"{}\"\non_error = \"{on_error}\"", redis.url());
        let desk = connected(&desk_before(&origin).set("store", &store)).await;
        let ask = confirmed(&desk).await;
        redis.kill();
        for (what, refused) in [
            ("a question", item("sell", "book").bearer(ADA)),
            ("a confirmed call", ask.clone()),
            ("a question with a key", buy()),
            ("a key alone", item("pay", "book").key("k-1").bearer(ADA)),
            ("a key for a site that takes it twice", item("book", "book").key("k-1").bearer(ADA)),
        ] {
            let answer = desk.ask(Via::H1, refused).await;
            assert_eq!(answer.status, 503, "{on_error}, {what}: {}", answer.text());
            let wait = answer.header("retry-after").and_then(|w| w.parse::<u64>().ok());
            assert!(wait.is_some_and(|w| w >= 1), "{on_error}, {what}: {:?}", answer.headers);
        }
        if on_error != "deny" {
            order(&desk.ask(Via::H1, item("search", "book")).await, on_error);
        }
        assert!(carried_out(&origin).is_empty(), "{on_error}: the origin is untouched");
        redis.again().await;
        eventually("keys again", SETTLED, async || {
            desk.ask(Via::H1, item("pay", "book").key("k-1").bearer(ADA)).await.status == 201
        })
        .await;
        assert_eq!(carried_out(&origin).len(), 1, "{on_error}");
    }
}

#[tokio::test]
async fn crashes_of_the_store_in_mid_call_buy_once() {
    let (gate, redis) = (Gate::closed(), Redis::start().await);
    let origin = holding(&gate, false).await;
    let desk = connected(&desk_before(&origin).set("store", &format!("url = \"{}\"", redis.url()))).await;
    let ask = confirmed(&desk).await;
    let mut conn = desk.conn().await;
    conn.send(ask.bytes()).await;
    eventually("the origin has it", SOON, async || carried_out(&origin).len() == 1).await;
    redis.freeze();
    gate.open();
    conn.try_response("POST", SOON).await.expect("an answer, whatever it says");
    redis.thaw();
    eventually("the retry is told", SETTLED, async || {
        let again = desk.ask(Via::H1, ask.clone()).await;
        let known = is_replay(&again) || code(&again) == "outcome_unknown";
        assert!(known || again.status == 503 || code(&again) == "idempotency_in_flight", "{}", again.text());
        known
    })
    .await;
    assert_eq!(carried_out(&origin).len(), 1);
}
