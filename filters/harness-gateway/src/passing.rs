//! Handles one message: passes it to the harnesses and combines their answers.

use std::{cmp, collections::HashSet, sync::Arc, time::Instant};

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{
    combined::{Answer, Event},
    contract,
    envelope::{self, Message, Problem},
    payload,
    record::{Line, Record},
    shape::Shape,
};
use frontdesk_base::reply::Reply;
use frontdesk_desk::{
    Desk, Incoming,
    harness::{
        Greeted, Harness, Link, NoAnswer,
        kinds::Kind,
        major,
        wire::{self, BAD_PARAMS, HANDLER_FAILED, NO_MESSAGE, NO_METHOD, UNSUPPORTED_VERSION},
    },
};

/// Maximum events in a batch, whatever the harnesses accept, because each needs an audit line.
const BATCH: usize = 100;

/// One message on its way.
pub(super) struct Passing<'a> {
    harness: &'a Harness,
    record: Record<'a>,
    began: Instant,
}

impl<'a> Passing<'a> {
    pub(super) fn new(harness: &'a Harness, desk: &'a Desk<'a>, incoming: &'a Incoming<'a>) -> Self {
        Self { harness, record: Record::new(desk, incoming), began: Instant::now() }
    }

    /// The reply.
    ///
    /// # Errors
    ///
    /// The JSON-RPC error.
    pub(super) async fn answered(self, message: Message) -> Result<Reply, Problem> {
        let Message { id, method, params } = message;
        let Some(id) = id else { return self.told(&method, params).await };
        let result = match method.as_str() {
            wire::HANDSHAKE => self.greeted(&params)?,
            wire::EVENT => self.decided(params).await?,
            wire::QUERY => self.queried(&params).await?,
            wire::BATCH => self.batched(params).await?,
            _ => return Err(Problem::new(NO_METHOD, "There is no such method.")),
        };
        Ok(envelope::result(&id, &result))
    }

    /// Answers a handshake with what all harnesses have in common.
    fn greeted(&self, params: &Value) -> Result<Value, Problem> {
        checked(&contract::HANDSHAKE, params)?;
        let version = params["protocol_version"].as_str().unwrap_or_default();
        if major(version) != major(wire::VERSION) {
            let shown: String = version.chars().filter(|c| !c.is_control()).take(20).collect();
            return Err(Problem::new(UNSUPPORTED_VERSION, format!("Unsupported protocol version: {shown}")));
        }
        let all = self.all_greeted()?;
        let mut capabilities: Option<HashSet<&str>> = None;
        for greeted in &all {
            let theirs: HashSet<&str> = greeted.capabilities.iter().map(String::as_str).collect();
            capabilities = Some(capabilities.map_or(theirs.clone(), |both| &both & &theirs));
        }
        let mut capabilities: Vec<&str> = capabilities.unwrap_or_default().into_iter().collect();
        capabilities.sort_unstable();
        // The harnesses are asked one after the other, so their own time limits add up.
        let timeout: u128 = all.iter().map(|greeted| greeted.own_timeout.as_millis()).sum();
        self.record.note(&self.line("handshake", None, "greeted", ""));
        Ok(json!({
            "protocol_version": wire::VERSION,
            "harness_info": {
                "name": "frontdesk", "version": env!("CARGO_PKG_VERSION"), "capabilities": capabilities,
            },
            "config": {
                "timeout_ms": u64::try_from(timeout).unwrap_or(u64::MAX),
                "batch_size": all.iter().map(|greeted| greeted.batch_size).fold(BATCH, cmp::min),
                "max_depth": all.iter().map(|greeted| greeted.max_depth).min(),
            },
        }))
    }

    /// Answers an event with a decision.
    async fn decided(mut self, params: Value) -> Result<Value, Problem> {
        let (kind, params) = event(params, "params", self.max_depth())?;
        if !kind.is_blocking() {
            let name = kind.name();
            return Err(Problem::new(BAD_PARAMS, format!("{name} waits for nothing: send it without an id.")));
        }
        self.record.reserve(1).await?;
        let mut event = Event::new(kind, params);
        let tool_name = event.tool_name().map(str::to_owned);
        for link in self.asked(kind) {
            let said = link.call(wire::EVENT, &Value::Object(event.params.clone())).await.map_err(NoAnswer::words);
            self.trouble(link, event.hear(&link.name, said));
            if event.is_settled() {
                break;
            }
        }
        let answer = event.answer();
        self.write(kind, tool_name.as_deref(), &answer).await?;
        Ok(answer.result)
    }

    /// Answers a batch of events, which all wait for decisions of one family.
    async fn batched(mut self, mut params: Value) -> Result<Value, Problem> {
        checked(&contract::BATCH, &params)?;
        let Some(Value::Array(listed)) = params.get_mut("events").map(Value::take) else {
            return Err(Problem::new(BAD_PARAMS, "`params.events` has to be a list."));
        };
        let known = self.harness.links.iter().filter_map(|link| link.greeted());
        let most = known.map(|greeted| greeted.batch_size).fold(BATCH, cmp::min);
        if listed.len() > most {
            return Err(Problem::new(BAD_PARAMS, format!("A batch has at most {most} events.")));
        }
        let depth = self.max_depth();
        let mut events = Vec::with_capacity(listed.len());
        for (at, params) in listed.into_iter().enumerate() {
            let (kind, params) = event(params, &format!("params.events[{at}]"), depth)?;
            if !kind.is_batchable() {
                let name = kind.name();
                return Err(Problem::new(BAD_PARAMS, format!("{name} has an answer of its own: send it by itself.")));
            }
            events.push(Event::new(kind, params));
        }
        if events.is_empty() {
            return Ok(json!({ "decisions": [] }));
        }
        self.record.reserve(events.len()).await?;
        let tool_names: Vec<Option<String>> = events.iter().map(|event| event.tool_name().map(str::to_owned)).collect();
        for link in &self.harness.links {
            let mut open: Vec<&mut Event> = events.iter_mut().filter(|event| !event.is_settled()).collect();
            if open.is_empty() {
                break;
            }
            let asked: Vec<&Map<String, Value>> = open.iter().map(|event| &event.params).collect();
            match decisions(link, &json!({ "events": asked }), open.len()).await {
                Ok(decisions) => {
                    for (event, decision) in open.iter_mut().zip(decisions) {
                        self.trouble(link, event.hear(&link.name, Ok(decision)));
                    }
                }
                Err(why) => {
                    self.harness.telemetry.trouble(&link.name, &why);
                    open.iter_mut().for_each(|event| drop(event.hear(&link.name, Err(why.clone()))));
                }
            }
        }
        let mut decisions = Vec::with_capacity(events.len());
        for (event, tool_name) in events.into_iter().zip(tool_names) {
            let kind = event.kind;
            let answer = event.answer();
            self.write(kind, tool_name.as_deref(), &answer).await?;
            decisions.push(answer.result);
        }
        Ok(json!({ "decisions": decisions }))
    }

    /// Answers a query with the first harness that can.
    async fn queried(&self, params: &Value) -> Result<Value, Problem> {
        checked(&contract::QUERY, params)?;
        for link in &self.harness.links {
            match link.call(wire::QUERY, params).await {
                Ok(result) if result.get("answer").is_some() => {
                    self.record.note(&self.line("query", None, "answered", &link.name));
                    return Ok(result);
                }
                _ => {}
            }
        }
        self.record.note(&self.line("query", None, "unanswered", ""));
        Err(Problem::new(HANDLER_FAILED, "No harness here answers this."))
    }

    /// Forwards a notification to all harnesses.
    async fn told(self, method: &str, params: Value) -> Result<Reply, Problem> {
        if method != wire::EVENT {
            return Err(Problem::new(NO_MESSAGE, "Only an event can do without an id."));
        }
        let (kind, params) = event(params, "params", self.max_depth())?;
        if kind.is_blocking() {
            let name = kind.name();
            return Err(Problem::new(BAD_PARAMS, format!("{name} waits for a decision: send it with an id.")));
        }
        let params = Value::Object(params);
        let mut heard = false;
        for link in &self.harness.links {
            match link.forward(&params).await {
                Ok(()) => heard = true,
                Err(why) => self.harness.telemetry.trouble(&link.name, &why.words()),
            }
        }
        self.record.note(&self.line(kind.name(), None, if heard { "told" } else { "unheard" }, ""));
        if heard {
            Ok(Reply::empty(StatusCode::NO_CONTENT))
        } else {
            Err(Problem::new(HANDLER_FAILED, "No harness can be reached at the moment."))
        }
    }

    /// The harnesses to ask about events of this kind: those that offer it or may offer it; if there are none, all.
    fn asked(&self, kind: Kind) -> Vec<&Arc<Link>> {
        let might = |link: &&Arc<Link>| link.greeted().is_none_or(|greeted| greeted.capabilities.contains(kind.name()));
        let offering: Vec<_> = self.harness.links.iter().filter(might).collect();
        if offering.is_empty() { self.harness.links.iter().collect() } else { offering }
    }

    /// The greetings of all harnesses; an error where one is unreachable.
    fn all_greeted(&self) -> Result<Vec<Arc<Greeted>>, Problem> {
        let all: Option<Vec<_>> = self.harness.links.iter().map(|link| link.greeted()).collect();
        let away = || Problem::new(HANDLER_FAILED, "A harness that has to decide is unreachable. Try again later.");
        all.filter(|all| !all.is_empty()).ok_or_else(away)
    }

    /// The maximum depth that all of them accept, as far as known.
    fn max_depth(&self) -> u64 {
        let known = self.harness.links.iter().filter_map(|link| link.greeted());
        known.map(|greeted| greeted.max_depth.into()).fold(u32::MAX.into(), cmp::min)
    }

    fn trouble(&self, link: &Link, heard: Result<(), String>) {
        if let Err(why) = heard {
            self.harness.telemetry.trouble(&link.name, &why);
        }
    }

    fn line<'l>(
        &self,
        kind: &'static str,
        tool_name: Option<&'l str>,
        decision: &'l str,
        harness: &'l str,
    ) -> Line<'l> {
        Line { kind, tool_name, decision, harness, duration: self.began.elapsed() }
    }

    async fn write(&mut self, kind: Kind, tool_name: Option<&str>, answer: &Answer) -> Result<(), Problem> {
        let line = self.line(kind.name(), tool_name, answer.word(), &answer.by);
        self.record.write(&line).await
    }
}

/// Asks one harness about a batch of events.
async fn decisions(link: &Link, params: &Value, events: usize) -> Result<Vec<Value>, String> {
    let mut result = link.call(wire::BATCH, params).await.map_err(NoAnswer::words)?;
    match result.get_mut("decisions").map(Value::take) {
        Some(Value::Array(decisions)) if decisions.len() == events => Ok(decisions),
        _ => Err("it did not decide on each event of a batch".into()),
    }
}

/// Validates an event; returns its kind and parameters.
fn event(params: Value, at: &str, max_depth: u64) -> Result<(Kind, Map<String, Value>), Problem> {
    let wrong = |why: String| Problem::new(BAD_PARAMS, why);
    contract::EVENT.check(&params, at).map_err(wrong)?;
    let Value::Object(params) = params else { return Err(wrong(format!("`{at}` has to be an object."))) };
    let name = params.get("event_type").and_then(Value::as_str).unwrap_or_default();
    let kind = Kind::named(name).ok_or_else(|| wrong(format!("`{at}.event_type` is no kind of event.")))?;
    if params.get("depth").and_then(Value::as_u64).is_none_or(|depth| depth > max_depth) {
        return Err(wrong(format!("`{at}.depth` is above {max_depth}, the most that is taken.")));
    }
    if let (Some(shape), Some(sent)) = (payload::of(kind), params.get("payload")) {
        shape.check(sent, &format!("{at}.payload")).map_err(wrong)?;
    }
    Ok((kind, params))
}

fn checked(shape: &Shape, params: &Value) -> Result<(), Problem> {
    shape.check(params, "params").map_err(|why| Problem::new(BAD_PARAMS, why))
}
