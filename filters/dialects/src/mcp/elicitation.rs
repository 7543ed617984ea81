//! Asks a person through the client (MCP 2026-07-28, multi round-trip requests): a confirmation, a clarifying question or
//! missing inputs become a form, and the client repeats the call with the answer.
//!
//! What the desk needs for the second call, a confirmation token above all, travels in `requestState`. It is encrypted
//! with a key that all replicas have, and bound to the caller and the tool. So a model that sees everything that the
//! client shows it holds nothing with which it could confirm: only the client, which asked its person, can.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use frontdesk_caller::Caller;
use frontdesk_config::Capability;
use frontdesk_desk::{
    ConfirmationPage, Desk, Events, Incoming,
    pending::{self, Decision},
    records,
};
use ring::{aead, hmac};
use serde_json::{Map, Value, json};

use super::{
    super::{
        ahp::{CANCEL, Question, Turn},
        json,
    },
    envelope::{INVALID_PARAMS, Problem},
    era::META_CAPABILITIES,
    message::{Request, action},
    missing::{self, Missing},
    protocol::Era,
    stream,
};

/// How long a call waits for the person to decide on the page, and how often it looks.
const WAIT_FOR_PAGE: Duration = Duration::from_secs(25);
const LOOK_AT_PAGE: Duration = Duration::from_millis(500);
/// The keys of the requests.
const CONFIRMATION: &str = "confirmation";
const CLARIFICATION: &str = "clarification";
const INPUTS: &str = "inputs";
/// The only field of the first two forms.
const CONFIRM: &str = "ok";
const ANSWER: &str = "answer";
/// What the encryption key is made for.
const PURPOSE: &[u8] = b"MCP requestState";
/// Maximum characters of an answer, as the conversation takes it.
const LONGEST_ANSWER: usize = 1000;
/// Maximum bytes of a `requestState` of ours.
const LONGEST_STATE: usize = 8192;

/// What a client lets its person do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Elicits {
    pub(super) form: bool,
    pub(super) url: bool,
    /// Its forms have choices with titles, and several at a time (since 2025-11-25).
    pub(super) choices: bool,
}

impl Elicits {
    /// What a request declares.
    pub(super) fn of(request: &Request, era: Era) -> Self {
        let declared = request.meta().and_then(|meta| meta.get(META_CAPABILITIES)?.get("elicitation")?.as_object());
        declared
            .filter(|_| era == Era::Stateless)
            .map_or(Self { form: false, url: false, choices: false }, Self::declared)
    }

    /// What a declaration says. An empty one means forms.
    pub(super) fn declared(modes: &Map<String, Value>) -> Self {
        let form = modes.is_empty() || modes.contains_key("form");
        Self { form, url: modes.contains_key("url"), choices: form }
    }
}

/// What the second call continues.
#[derive(Debug, PartialEq, Eq)]
struct State {
    asked: Asked,
    session: Option<String>,
    /// What the person has filled in so far.
    inputs: Map<String, Value>,
}

/// What the person was asked.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// `page`: the id of the page on which the person decides.
    Confirm {
        token: String,
        page: Option<String>,
    },
    Clarify,
    Inputs,
}

/// How a repeated call goes on.
pub(super) struct Resumed {
    /// The person may be asked once more.
    pub(super) may_ask: bool,
    /// What the person has filled in so far.
    pub(super) inputs: Map<String, Value>,
}

/// Takes the answers of a repeated call into its question.
///
/// # Errors
///
/// The state was changed, or belongs to another caller or tool.
pub(super) async fn resume(
    desk: &Desk<'_>,
    incoming: &Incoming<'_>,
    tool: &str,
    request: &Request,
    (question, capability): (&mut Question, Option<&Capability>),
) -> Result<Resumed, Problem> {
    let Some(state) = request.params.get("requestState") else {
        return Ok(Resumed { may_ask: true, inputs: Map::new() });
    };
    let state = state.as_str().filter(|state| state.len() <= LONGEST_STATE).ok_or_else(foreign)?;
    let key = key(desk).await?;
    let State { asked, session, mut inputs } =
        open(&key, state, &bound_to(incoming.caller, tool)).ok_or_else(foreign)?;
    let answers = request.params.get("inputResponses").and_then(Value::as_object);
    let answer = |name: &str| answers.and_then(|answers| answers.get(name)).and_then(Value::as_object);
    question.session_id = session.or(question.session_id.take());
    let may_ask = match asked {
        Asked::Confirm { token, page } => match answer(CONFIRMATION) {
            // An answer of another form is none: the person is asked again.
            None => true,
            Some(answer) => match &page {
                // The person agreed to open the page. What they decide there is in the records.
                Some(page) if action(answer) == Some("accept") => {
                    let is_there = decided(desk, page, stream::of(incoming)).await;
                    question.confirmation = is_there.then_some(token);
                    !is_there
                }
                _ => {
                    question.confirmation = agreed(answer).map(|agreed| if agreed { token } else { CANCEL.to_owned() });
                    true
                }
            },
        },
        Asked::Clarify => match answer(CLARIFICATION) {
            None => true,
            Some(answer) if action(answer) == Some("accept") => {
                question.clarification = said(answer);
                true
            }
            Some(_) => false,
        },
        Asked::Inputs => match answer(INPUTS) {
            None => true,
            Some(answer) => {
                let filled = missing::filled(answer);
                let may_ask = filled.is_some();
                inputs.extend(filled.into_iter().flatten());
                may_ask
            }
        },
    };
    missing::merge(question, capability.and_then(|capability| capability.input_schema.as_ref()), &inputs);
    Ok(Resumed { may_ask, inputs })
}

/// Whether a person agreed; `None`: they were asked, and their answer is none.
pub(super) fn agreed(answer: &Map<String, Value>) -> Option<bool> {
    let agreed = answer.get("content").and_then(|content| content.get(CONFIRM)).and_then(Value::as_bool);
    match action(answer)? {
        "accept" => agreed,
        "decline" | "cancel" => Some(false),
        _ => None,
    }
}

/// What a person said to a clarifying question; `None`: they did not want to answer, or answered something else.
pub(super) fn said(answer: &Map<String, Value>) -> Option<String> {
    let text = answer.get("content").and_then(|content| content.get(ANSWER)).and_then(Value::as_str);
    text.filter(|_| action(answer) == Some("accept")).map(|text| text.chars().take(LONGEST_ANSWER).collect())
}

/// The id of the page that a confirmation waits for; `None`: it waits for none, or the site sends its address itself.
pub(super) fn page_id(page: Option<&ConfirmationPage>) -> Option<&str> {
    page.and_then(ConfirmationPage::url).and_then(|url| url.rsplit('/').next())
}

/// Waits a while for the person to decide on the page. `false`: the client has left meanwhile, and nobody would get the
/// result of the call. It is only seen on a stream that the client has left; for a client that takes none nothing is waited
/// for.
pub(super) async fn decided(desk: &Desk<'_>, page: &str, client: Option<&dyn Events>) -> bool {
    let Some(client) = client else { return true };
    let (mut is_there, mut waited, mut knocks) = (true, Duration::ZERO, Duration::ZERO);
    while is_there && !client.is_gone() && waited < WAIT_FOR_PAGE {
        match pending::look(desk, page).await {
            Ok(Some(pending)) if pending.decision == Decision::Pending && !pending.is_over(desk.records.now()) => {}
            _ => break,
        }
        if waited >= knocks {
            is_there = stream::knock(client).await;
            knocks += stream::KNOCK;
        }
        desk.outside.pause(LOOK_AT_PAGE).await;
        waited += LOOK_AT_PAGE;
    }
    is_there && !client.is_gone()
}

/// The parameters of the request that asks the person; `None`: the client cannot ask, or there is nothing to ask.
pub(super) fn params(turn: &Turn, elicits: Elicits) -> Option<Value> {
    match turn {
        Turn::Confirm(asked) => match &asked.page {
            None if elicits.form => {
                let schema =
                    json!({ "type": "boolean", "title": "Confirm", "description": "Whether this may be done." });
                Some(form(&asked.says(), CONFIRM, schema))
            }
            Some(ConfirmationPage::At(url)) if elicits.url => {
                Some(json!({ "mode": "url", "message": asked.says(), "url": url }))
            }
            _ => None,
        },
        Turn::Clarify(asked) if elicits.form => {
            let mut answer = json!({ "type": "string", "title": "Answer", "maxLength": LONGEST_ANSWER });
            match asked.options.as_deref() {
                Some(options) if !options.is_empty() && !asked.free_form => answer["enum"] = json!(options),
                Some(options) if !options.is_empty() => {
                    answer["description"] = format!("For example: {}", options.join("; ")).into();
                }
                _ => {}
            }
            Some(form(&asked.question, ANSWER, answer))
        }
        _ => None,
    }
}

/// The result that has the client ask its person, as the members of an object; `None`: the client cannot, or there is
/// nothing to ask. `lacks`: what the call lacks. `inputs`: what the person has filled in before.
pub(super) async fn ask(
    desk: &Desk<'_>,
    (caller, tool): (&Caller, &str),
    turn: &Turn,
    (lacks, inputs): (Option<&Missing>, Map<String, Value>),
    elicits: Elicits,
) -> Option<String> {
    let params = match lacks {
        Some(missing) => missing.params(),
        None => params(turn, elicits)?,
    };
    let session = turn.session().map(str::to_owned);
    let (name, asked) = match turn {
        Turn::Confirm(asked) => {
            let page = page_id(asked.page.as_ref()).map(str::to_owned);
            (CONFIRMATION, Asked::Confirm { token: asked.token.clone(), page })
        }
        Turn::Clarify(_) => (CLARIFICATION, Asked::Clarify),
        _ => (INPUTS, Asked::Inputs),
    };
    let key = key(desk).await.ok()?;
    let state = seal(&key, &State { asked, session, inputs }, &bound_to(caller, tool))?;
    let mut result = Vec::new();
    json::object(&mut result, |result| {
        result.value("inputRequests", &json!({ name: { "method": "elicitation/create", "params": params } }));
        result.text("requestState", &state);
        result.text("resultType", "input_required");
    });
    let result = String::from_utf8(result).ok()?;
    Some(result.strip_prefix('{')?.strip_suffix('}')?.to_owned())
}

fn form(message: &str, field: &str, schema: Value) -> Value {
    json!({
        "mode": "form", "message": message,
        "requestedSchema": { "type": "object", "properties": { field: schema }, "required": [field] },
    })
}

fn foreign() -> Problem {
    let why = "`requestState` was changed, or belongs to another caller or tool. Nothing was done; make the call anew \
               without it.";
    Problem::new(INVALID_PARAMS, why.into())
}

/// The caller and the tool that a state is for. The token in it is bound to the input besides.
fn bound_to(caller: &Caller, tool: &str) -> Vec<u8> {
    let holder = caller.holder().bytes();
    [&holder[..], tool.as_bytes()].concat()
}

async fn key(desk: &Desk<'_>) -> Result<aead::LessSafeKey, Problem> {
    let away = || {
        Problem::new(super::envelope::INTERNAL, "The store is unavailable. Nothing was done; try again later.".into())
    };
    let secret = records::confirmation_secret(desk.records).await.map_err(|_| away())?;
    let bytes = hmac::sign(&secret, PURPOSE);
    let key = aead::UnboundKey::new(&aead::CHACHA20_POLY1305, bytes.as_ref()).map_err(|_| away())?;
    Ok(aead::LessSafeKey::new(key))
}

fn seal(key: &aead::LessSafeKey, state: &State, bound_to: &[u8]) -> Option<String> {
    let mut said = json!({ "session": state.session, "inputs": state.inputs });
    match &state.asked {
        Asked::Confirm { token, page } => {
            said["confirm"] = token.as_str().into();
            said["page"] = page.as_deref().into();
        }
        Asked::Clarify => {}
        Asked::Inputs => said["asked"] = INPUTS.into(),
    }
    let nonce = records::random::<{ aead::NONCE_LEN }>().ok()?;
    let mut sealed = said.to_string().into_bytes();
    let aad = aead::Aad::from(bound_to);
    key.seal_in_place_append_tag(aead::Nonce::assume_unique_for_key(nonce), aad, &mut sealed).ok()?;
    let state = URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat());
    Some(state).filter(|state| state.len() <= LONGEST_STATE)
}

fn open(key: &aead::LessSafeKey, state: &str, bound_to: &[u8]) -> Option<State> {
    let mut bytes = URL_SAFE_NO_PAD.decode(state).ok()?;
    let (nonce, sealed) = bytes.split_at_mut_checked(aead::NONCE_LEN)?;
    let nonce = aead::Nonce::try_assume_unique_for_key(nonce).ok()?;
    let said = key.open_in_place(nonce, aead::Aad::from(bound_to), sealed).ok()?;
    let said: Value = serde_json::from_slice(said).ok()?;
    let text = |name: &str| said[name].as_str().map(str::to_owned);
    let asked = match text("confirm") {
        Some(token) => Asked::Confirm { token, page: text("page") },
        None if said["asked"] == INPUTS => Asked::Inputs,
        None => Asked::Clarify,
    };
    Some(State { asked, session: text("session"), inputs: said["inputs"].as_object().cloned().unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_key(byte: u8) -> aead::LessSafeKey {
        aead::LessSafeKey::new(aead::UnboundKey::new(&aead::CHACHA20_POLY1305, &[byte; 32]).unwrap())
    }

    #[test]
    fn a_state_opens_for_whom_it_was_sealed_and_unchanged() {
        let inputs = json!({ "name": "Ada" }).as_object().cloned().unwrap();
        let asked = || Asked::Confirm { token: "t".into(), page: None };
        let state = || State { asked: asked(), session: Some("s".into()), inputs: inputs.clone() };
        let sealed = seal(&test_key(1), &state(), b"ada/buy").unwrap();
        assert_eq!(open(&test_key(1), &sealed, b"ada/buy"), Some(state()));
        assert_eq!(open(&test_key(1), &sealed, b"bob/buy"), None);
        assert_eq!(open(&test_key(2), &sealed, b"ada/buy"), None);
        assert!(!sealed.contains("\"t\""));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            // The last character may hold bits that no byte has.
            assert!(changed == sealed || open(&test_key(1), &changed, b"ada/buy").is_none(), "{at}");
        }
        assert_eq!(open(&test_key(1), "", b"ada/buy"), None);
        for asked in [Asked::Clarify, Asked::Inputs] {
            let state = State { asked, session: None, inputs: Map::new() };
            assert_eq!(open(&test_key(1), &seal(&test_key(1), &state, b"").unwrap(), b""), Some(state));
        }
        assert_eq!(open(&test_key(1), "AAAA", b"ada/buy"), None);
    }

    #[test]
    fn an_empty_declaration_means_forms() {
        let request = |elicitation: Value| Request {
            id: json!(1),
            method: "tools/call".into(),
            params: json!({ "_meta": { META_CAPABILITIES: { "elicitation": elicitation } } })
                .as_object()
                .cloned()
                .unwrap(),
        };
        let of = |elicitation, era| Elicits::of(&request(elicitation), era);
        assert_eq!(of(json!({}), Era::Stateless), Elicits { form: true, url: false, choices: true });
        assert_eq!(of(json!({ "url": {} }), Era::Stateless), Elicits { form: false, url: true, choices: false });
        assert_eq!(
            of(json!({ "url": {}, "form": {} }), Era::Stateless),
            Elicits { form: true, url: true, choices: true }
        );
        assert_eq!(of(json!({}), Era::Handshake), Elicits { form: false, url: false, choices: false });
        assert_eq!(of(json!(null), Era::Stateless), Elicits { form: false, url: false, choices: false });
    }
}
