//! Matches answers to the callers that wait for them, where one connection carries several requests.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use bytes::Bytes;
use frontdesk_filters::harness::{Lost, answers};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The most callers that wait at a time.
const MOST_WAITING: usize = 1024;
/// The most unexpected messages, beyond possible late answers. A peer that sends more is broken.
const MOST_IGNORED: usize = 1000;

/// The waiting callers of one connection.
#[derive(Default)]
pub(super) struct Waiting(Mutex<State>);

#[derive(Default)]
struct State {
    askers: HashMap<String, (u64, oneshot::Sender<Bytes>)>,
    next: u64,
    ignored: usize,
    /// Why the connection has ended.
    broken: Option<String>,
}

impl Waiting {
    /// Registers a caller for the answer with this id.
    pub(super) fn expect(self: &Arc<Self>, id: &str) -> Result<Asker, Lost> {
        let mut state = self.0.lock();
        if let Some(why) = &state.broken {
            return Err(Lost(why.clone()));
        }
        if state.askers.len() >= MOST_WAITING {
            return Err(Lost(format!("{MOST_WAITING} wait for an answer already")));
        }
        state.next += 1;
        let serial = state.next;
        let (sender, answer) = oneshot::channel();
        match state.askers.entry(id.to_owned()) {
            Entry::Occupied(_) => return Err(Lost("the same id is being asked".into())),
            Entry::Vacant(free) => free.insert((serial, sender)),
        };
        drop(state);
        Ok(Asker { id: id.to_owned(), serial, waiting: self.clone(), answer })
    }

    /// Whether a caller still waits for this id.
    pub(super) fn expects(&self, id: &str) -> bool {
        self.0.lock().askers.contains_key(id)
    }

    /// Records a sent message without a waiting caller. The peer may still answer it.
    pub(super) fn sent(&self) {
        let mut state = self.0.lock();
        state.ignored = state.ignored.saturating_sub(1);
    }

    /// Gives a message to its waiting caller. Ignores other messages; too many of them are an error.
    pub(super) fn hand(&self, message: Bytes) -> Result<(), String> {
        // Without waiting callers, do not parse it.
        let id = if self.0.lock().askers.is_empty() { None } else { answers(&message) };
        let mut state = self.0.lock();
        if let Some((_, asker)) = id.and_then(|id| state.askers.remove(&id)) {
            state.ignored = 0;
            // The caller may have given up just now.
            let _ = asker.send(message);
            return Ok(());
        }
        state.ignored += 1;
        if state.ignored > MOST_IGNORED { Err("too many messages without a request".into()) } else { Ok(()) }
    }

    /// Ends the connection: all waiting callers get the error at once.
    pub(super) fn fail(&self, why: String) {
        let mut state = self.0.lock();
        state.broken.get_or_insert(why);
        state.askers.clear();
    }

    /// Why the connection has ended.
    pub(super) fn broken(&self) -> Option<String> {
        self.0.lock().broken.clone()
    }

    /// Whether the connection has ended.
    pub(super) fn is_broken(&self) -> bool {
        self.0.lock().broken.is_some()
    }
}

/// A waiting caller. Dropping it removes the registration.
pub(super) struct Asker {
    id: String,
    serial: u64,
    waiting: Arc<Waiting>,
    answer: oneshot::Receiver<Bytes>,
}

impl Asker {
    /// The answer, unchanged.
    pub(super) async fn answer(&mut self) -> Result<Bytes, Lost> {
        match (&mut self.answer).await {
            Ok(answer) => Ok(answer),
            Err(_) => Err(Lost(self.waiting.broken().unwrap_or_else(|| "the connection is gone".into()))),
        }
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        let mut state = self.waiting.0.lock();
        // Another caller may have this id by now.
        if state.askers.get(&self.id).is_some_and(|(serial, _)| *serial == self.serial) {
            state.askers.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str) -> Bytes {
        Bytes::from(format!(r#"{{"id":{id},"result":1}}"#))
    }

    #[tokio::test]
    async fn an_answer_finds_its_question() {
        let waiting = Arc::<Waiting>::default();
        let (mut a, mut b) = (waiting.expect("a").unwrap(), waiting.expect("b").unwrap());
        for nobodys in [
            answer("null"),
            answer("1"),
            answer("\"c\""),
            answer("[\"a\"]"),
            answer("\"c\",\"id\":\"a\""),
            "{".into(),
            "[\"a\"]".into(),
        ] {
            waiting.hand(nobodys).unwrap();
        }
        waiting.hand(answer("\"b\"")).unwrap();
        waiting.hand(answer("\"a\"")).unwrap();
        assert_eq!(a.answer().await, Ok(answer("\"a\"")));
        assert_eq!(b.answer().await, Ok(answer("\"b\"")));
    }

    #[tokio::test]
    async fn nobody_leaves_anything_behind() {
        let waiting = Arc::<Waiting>::default();
        let first = waiting.expect("a").unwrap();
        assert!(waiting.expect("a").is_err(), "two cannot wait for the same answer");
        waiting.hand(answer("\"a\"")).unwrap();
        let mut second = waiting.expect("a").unwrap();
        drop(first);
        waiting.hand(answer("\"a\"")).unwrap();
        assert!(second.answer().await.is_ok(), "a caller that gave up does not end the others");
        drop(second);
        let many: Vec<_> = (0..MOST_WAITING).map(|i| waiting.expect(&i.to_string()).unwrap()).collect();
        assert!(waiting.expect("one more").is_err());
        drop(many);
        assert!(waiting.expect("one more").is_ok());
        assert!(waiting.0.lock().askers.is_empty());
    }

    #[tokio::test]
    async fn all_hear_of_an_end() {
        let waiting = Arc::<Waiting>::default();
        let mut asker = waiting.expect("a").unwrap();
        waiting.fail("closed".into());
        waiting.fail("again".into());
        assert_eq!(asker.answer().await, Err(Lost("closed".into())));
        assert!(waiting.is_broken() && waiting.expect("b").is_err());
    }

    #[test]
    fn what_nobody_asked_for_is_bounded() {
        let waiting = Waiting::default();
        for _ in 0..MOST_IGNORED {
            waiting.hand("noise".into()).unwrap();
        }
        // An answer to a message without a waiting caller is not unexpected.
        waiting.sent();
        waiting.hand("noise".into()).unwrap();
        assert!(waiting.hand("noise".into()).is_err());
    }
}
