//! A harness that disconnects and restarts, with various handshakes and answers.

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::json;

use super::*;
use frontdesk_state::testing::run;

/// A harness that answers each event with this, and performs the handshake while it is reachable.
#[derive(Default)]
struct Pretend {
    says: Mutex<Value>,
    greetings: AtomicU32,
    gone: Mutex<bool>,
    /// It has restarted, and needs a handshake.
    anew: Mutex<bool>,
}

#[async_trait]
impl HarnessConnection for Pretend {
    async fn ask(&self, id: &str, message: Bytes, _: Duration) -> Result<Bytes, Lost> {
        if *self.gone.lock() {
            return Err(Lost("gone".into()));
        }
        let message: Value = serde_json::from_slice(&message).unwrap();
        if message["method"] != wire::HANDSHAKE && *self.anew.lock() {
            return Err(Lost::ungreeted());
        }
        *self.anew.lock() = false;
        let mut answer = json!({ "jsonrpc": "2.0", "id": id });
        if message["method"] == wire::HANDSHAKE {
            self.greetings.fetch_add(1, Ordering::Relaxed);
            let info = json!({ "name": "h", "version": "1", "capabilities": ["pre_action"] });
            answer["result"] = json!({ "protocol_version": "2.4", "harness_info": info });
        } else {
            answer.as_object_mut().unwrap().extend(self.says.lock().as_object().unwrap().clone());
        }
        Ok(answer.to_string().into())
    }

    async fn tell(&self, _: Bytes, _: Duration) -> Result<(), Lost> {
        if *self.anew.lock() { Err(Lost::ungreeted()) } else { Ok(()) }
    }

    fn is_broken(&self) -> bool {
        false
    }
}
struct To(Arc<Pretend>);

#[async_trait]
impl HarnessTransport for To {
    async fn open(&self, _: Duration) -> Result<Arc<dyn HarnessConnection>, Lost> {
        Ok(self.0.clone())
    }
}

#[test]
fn errors_close_what_they_answer_and_nothing_else() {
    let (harness, hello) = (Arc::<Pretend>::default(), Hello { session_id: "s", agent_id: "a" });
    let link = Link::new("h".into(), Arc::new(To(harness.clone())), Duration::from_secs(1));
    let greet = || run(link.greet(&hello, &[]));
    let ask = |says: Value| {
        *harness.says.lock() = says;
        run(link.ask(Kind::PreAction, &json!({})))
    };
    assert!(link.wants_greeting());
    greet().unwrap();
    for _ in 0..10 {
        assert!(matches!(ask(json!({ "error": { "code": -32602 } })), Err(NoAnswer::Broken(_))));
        assert!(link.greeted().is_some() && link.why_away().is_none());
    }
    // A restarted harness may reject every client that has not greeted it.
    assert!(link.wants_greeting());
    greet().unwrap();
    assert!(!link.wants_greeting() && harness.greetings.load(Ordering::Relaxed) == 2);
    assert!(ask(json!({ "result": { "decision": "allow" } })).is_ok());

    *harness.gone.lock() = true;
    (0..MOST_LOST).for_each(|_| assert!(ask(json!({})).is_err()));
    assert!(link.wants_greeting() && greet().is_err());
    assert!(link.greeted().is_none() && matches!(ask(json!({})), Err(NoAnswer::Away(_))));
}

#[test]
fn one_that_began_anew_is_greeted_before_anything_else() {
    let (harness, hello) = (Arc::<Pretend>::default(), Hello { session_id: "s", agent_id: "a" });
    let link = Link::new("h".into(), Arc::new(To(harness.clone())), Duration::from_secs(1));
    *harness.says.lock() = json!({ "result": { "decision": "allow" } });
    run(link.greet(&hello, &[])).unwrap();
    for greetings in 2..4 {
        *harness.anew.lock() = true;
        if greetings == 2 {
            run(link.ask(Kind::PreAction, &json!({}))).unwrap();
        } else {
            run(link.forward(&json!({}))).unwrap();
        }
        assert_eq!(harness.greetings.load(Ordering::Relaxed), greetings);
        run(link.ask(Kind::PreAction, &json!({}))).unwrap();
        assert_eq!(harness.greetings.load(Ordering::Relaxed), greetings, "once is enough");
    }
    assert!(!link.wants_greeting());
}
