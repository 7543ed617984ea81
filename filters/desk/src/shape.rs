//! Turns the site's answer into the declared output names, and reads how long it stays fresh.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use super::{
    call::{Answer, CallPlan},
    clean_responses::{Seen, Sight},
    data::Data,
    files::Given,
    freshness::{freshness, is_storable},
    leaving::Flagged,
    pattern::follow,
    records::seconds,
};
use frontdesk_base::{
    exact_numbers,
    fault::{Fault, REALM, Refusal},
    media,
};
use frontdesk_config::ResponseKind;
use frontdesk_firewall::Utf16;

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The site's own status.
    pub status: StatusCode,
    pub data: Data,
    /// The site's body, where it is passed on unchanged.
    pub raw: Option<Raw>,
    /// When the site answered, in seconds since 1970.
    pub at: u64,
    /// For how many seconds the answer is fresh, where the site says so.
    pub fresh: Option<u64>,
    /// A replay of an answer that was too long to store: only the fact that the call was carried out is known.
    pub omitted: bool,
    /// The firewall's findings in it.
    pub flags: Flagged,
    /// The file that the data is about. It is not stored with the answer.
    pub file: Option<Box<Given>>,
}

/// A body that is passed on unparsed.
#[derive(Debug, Clone, PartialEq)]
pub struct Raw {
    pub content_type: String,
    pub body: Bytes,
}

/// What an answer says about the fate of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It was carried out, or failed for good.
    Known,
    /// It was not begun, so a retry is safe.
    NotDone,
    /// A gateway between us and the site gave up waiting.
    Unknown,
}

/// The message for a redirect, which does not say whether the call was carried out.
const SENT_ON: &str = "The site answered with a redirect, which is not followed here. It may have carried this out: find \
                       out before you try again.";

/// The fate of a call. A failure that the operator named is final, unless the site says when to retry.
pub(super) fn ending(plan: &CallPlan, answer: &Answer) -> Ending {
    let status = answer.status.as_u16();
    match status {
        // The site turned the credential away before it did anything; another credential may do better.
        401 | 403 if plan.in_their_name && !plan.errors.contains_key(&status) => Ending::NotDone,
        429 | 503 if answer.headers.contains_key(header::RETRY_AFTER) => Ending::NotDone,
        _ if plan.errors.contains_key(&status) => Ending::Known,
        408 | 499 | 502..=504 | 520..=527 => Ending::Unknown,
        _ => Ending::Known,
    }
}

/// Reads an answer. `seen`: the cache of clean responses, where it may be used.
///
/// # Errors
///
/// The answer is a failure, or does not match the declaration. Its text is withheld: it may show internals of the
/// site.
pub(super) fn told(plan: &CallPlan, answer: Answer, now: u64, seen: Option<&Seen>) -> Result<Told, Refusal> {
    let taken = taken(plan, &answer)?;
    if plan.response == ResponseKind::Json {
        return told_as_json(plan, answer, taken, now, seen);
    }
    let Answer { status, headers, body } = &answer;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let (data, raw) = match plan.response {
        ResponseKind::Raw => (Value::Null, Some(Raw { content_type: kind.to_owned(), body: body.clone() })),
        _ => {
            let mut data = wrapped(kind, *status, body);
            if let Some(location) = elsewhere(headers).filter(|_| taken.sends_on) {
                data["location"] = location.into();
            }
            (data, None)
        }
    };
    Ok(Told { raw, ..shaped(plan, &answer, data.into(), taken, now)? })
}

/// What is known of an answer that is no failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// It is a redirect to a result page of this site.
    pub(super) sends_on: bool,
}

/// Checks that an answer is no failure, and has no content coding.
///
/// # Errors
///
/// It is a failure. Its text is withheld: it may show internals of the site.
pub(super) fn taken(plan: &CallPlan, answer: &Answer) -> Result<Taken, Refusal> {
    let Answer { status, headers, .. } = answer;
    let status = *status;
    // Sites answer a form with a redirect to a result page, so a capability that takes any answer takes a 302 or 303
    // to this site. Any other redirect means that the call belongs elsewhere, or that a login is needed.
    let says_where = matches!(status, StatusCode::FOUND | StatusCode::SEE_OTHER) && elsewhere(headers).is_some();
    let sends_on = says_where && !matches!(plan.response, ResponseKind::Json | ResponseKind::Raw) && plan.acts();
    let named = plan.errors.contains_key(&status.as_u16());
    if !status.is_success() && (named || !sends_on) {
        let retry_after = headers.get(header::RETRY_AFTER).and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
        return Err(match plan.errors.get(&status.as_u16()) {
            Some(name) => Refusal { name: Some(name.clone()), retry_after, ..Fault::Named(status).into() },
            None if status.is_redirection() => {
                let details = elsewhere(headers).map(|location| json!({ "location": location }));
                Refusal { retry_after, details, ..Fault::SiteFailed.into() }.saying(SENT_ON)
            }
            None if plan.in_their_name && status == StatusCode::UNAUTHORIZED => turned_away(),
            None if plan.in_their_name && status == StatusCode::FORBIDDEN => {
                Refusal { reason: "site_forbids", ..Fault::Forbidden.into() }
                    .saying("The site does not let this caller do this.")
            }
            None => Refusal { retry_after, ..Fault::SiteFailed.into() },
        });
    }
    let coded = headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if coded {
        // The request accepted no content coding.
        return Err(Fault::Malformed.into());
    }
    Ok(Taken { sends_on })
}

/// Reads an answer as JSON.
pub(super) fn told_as_json(
    plan: &CallPlan,
    answer: Answer,
    taken: Taken,
    now: u64,
    seen: Option<&Seen>,
) -> Result<Told, Refusal> {
    let Answer { status, headers, body } = answer;
    // An empty body, whatever its media type says.
    let silent = status == StatusCode::OK && body.trim_ascii().is_empty();
    let status = if silent { StatusCode::NO_CONTENT } else { status };
    let data = json(body, seen.filter(|_| is_storable(&headers)))?;
    shaped(plan, &Answer { status, headers, body: Bytes::new() }, data, taken, now)
}

/// The result with this data: with the declared names, and for how long it is fresh.
///
/// # Errors
///
/// The data says that it failed.
pub(super) fn shaped(plan: &CallPlan, answer: &Answer, data: Data, taken: Taken, now: u64) -> Result<Told, Refusal> {
    if plan.failures.are_declared() {
        plan.failures.says_done(&data.value())?;
    }
    // For the caller a redirect to a result is an answer.
    let status = if taken.sends_on { StatusCode::OK } else { answer.status };
    let data = if plan.output.is_empty() { data } else { renamed(data.into_value(), &plan.output).into() };
    Ok(Told { at: now, fresh: freshness(&answer.headers), ..Told::of(status, data) })
}

/// The refusal where the site does not accept the caller's credential, or wants one (RFC 6750 §3).
pub(super) fn turned_away() -> Refusal {
    let said = "The site does not accept this credential. Get a new one from the site and try again.";
    let challenge = format!("{REALM}, error=\"invalid_token\", error_description=\"{said}\"");
    let challenge = HeaderValue::try_from(challenge).ok();
    Refusal { reason: "site_refuses_credential", challenge, ..Fault::Unauthenticated.into() }.saying(said)
}

/// The target of a redirect on this site. It is never followed, and is shown only where it reveals nothing internal.
pub(super) fn elsewhere(headers: &HeaderMap) -> Option<&str> {
    let location = headers.get(header::LOCATION)?.to_str().ok()?;
    let own =
        location.starts_with('/') && !location.starts_with("//") && !location.contains('\\') && location.len() <= 1024;
    own.then_some(location)
}

fn json(mut body: Bytes, seen: Option<&Seen>) -> Result<Data, Refusal> {
    let again = match seen.map(|seen| seen.look(&body)) {
        Some(Sight::Known(data)) => return Ok(data),
        Some(Sight::Again) => true,
        Some(Sight::New) | None => false,
    };
    if body.trim_ascii().is_empty() {
        // A success may have no body.
        return Ok(Value::Object(Map::new()).into());
    }
    if body.starts_with(b"\xef\xbb\xbf") {
        body.advance(3);
    }
    if !has_few_parts(&body) {
        return Err(
            Refusal::from(Fault::Malformed).saying("The site's answer has more parts than this desk passes on.")
        );
    }
    match Data::read(body) {
        Ok(data) if !again => Ok(data.unremembered()),
        read => read.map_err(|_| Fault::Malformed.into()),
    }
}

/// Maximum JSON values of one answer. A tree takes many times the memory of the text.
const MOST_PARTS: usize = 200_000;

/// Whether a JSON text has few enough values. Commas within strings count too, which is harmless.
fn has_few_parts(json: &[u8]) -> bool {
    json.len() <= MOST_PARTS || memchr::memchr3_iter(b',', b'[', b'{', json).take(MOST_PARTS + 1).count() <= MOST_PARTS
}

/// A body of any media type, wrapped in JSON.
fn wrapped(kind: &str, status: StatusCode, body: &[u8]) -> Value {
    let is_json = has_few_parts(body) && media::is_json(kind);
    let mut data = json!({ "content_type": kind, "status": status.as_u16() });
    if let Some(spelled) = Utf16::of(kind, body) {
        // Decoded, because the firewall has to see the text itself.
        data["body"] = spelled.read(body).trim_start_matches('\u{feff}').into();
        return data;
    }
    match (
        is_json.then(|| serde_json::from_slice::<Value>(&exact_numbers::quoted(body)).ok()).flatten(),
        std::str::from_utf8(body),
    ) {
        (Some(value), _) => data["body"] = value,
        (None, Ok(text)) => data["body"] = text.into(),
        (None, Err(_)) => {
            data["body"] = STANDARD.encode(body).into();
            data["encoding"] = "base64".into();
        }
    }
    data
}

/// Renames members to the declared names. Members that the site did not send are left out.
pub(super) fn renamed(mut data: Value, output: &[(String, Vec<String>)]) -> Value {
    if !data.is_object() {
        return data;
    }
    let mut moved = Vec::with_capacity(output.len());
    for (ours, theirs) in output {
        let Some(value) = follow(&data, theirs.iter().map(String::as_str)).cloned() else { continue };
        moved.push((ours, value));
    }
    for (_, theirs) in output {
        if let ([name], Some(members)) = (theirs.as_slice(), data.as_object_mut()) {
            members.remove(name);
        }
    }
    if let Some(members) = data.as_object_mut() {
        members.extend(moved.into_iter().map(|(ours, value)| (ours.clone(), value)));
    }
    data
}

impl Told {
    /// A result without raw body, dated now, with no freshness.
    pub(super) fn of(status: StatusCode, data: Data) -> Self {
        Self {
            status,
            data,
            raw: None,
            at: seconds(),
            fresh: None,
            omitted: false,
            flags: Flagged::default(),
            file: None,
        }
    }

    /// The form that a record stores.
    pub(super) fn kept(&self) -> Value {
        let raw = self.raw.as_ref().map(|raw| json!({ "type": raw.content_type, "body": STANDARD.encode(&raw.body) }));
        let mut kept = json!({
            "status": self.status.as_u16(), "data": self.data.value(), "raw": raw, "at": self.at, "fresh": self.fresh,
        });
        if self.omitted {
            kept["omitted"] = true.into();
        }
        self.flags.keep(&mut kept);
        kept
    }

    /// Reads the form that a record stores.
    pub(super) fn from_kept(kept: &mut Value) -> Option<Self> {
        let raw = kept["raw"].as_object().and_then(|raw| {
            let body = STANDARD.decode(raw.get("body")?.as_str()?).ok()?;
            Some(Raw { content_type: raw.get("type")?.as_str()?.to_owned(), body: body.into() })
        });
        Some(Self {
            status: StatusCode::from_u16(u16::try_from(kept["status"].as_u64()?).ok()?).ok()?,
            data: kept["data"].take().into(),
            raw,
            at: kept["at"].as_u64()?,
            fresh: kept["fresh"].as_u64(),
            omitted: kept["omitted"].as_bool().unwrap_or(false),
            flags: Flagged::new(
                kept["flags"]["told"].as_array().map(|told| texts(told)).unwrap_or_default(),
                kept["flags"]["changed"].as_bool().unwrap_or(false),
            ),
            file: None,
        })
    }
}

fn texts(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_get_their_declared_names() {
        let output = |pairs: &[(&str, &str)]| -> Vec<(String, Vec<String>)> {
            pairs.iter().map(|(a, b)| ((*a).to_owned(), b.split('.').map(str::to_owned).collect())).collect()
        };
        let data = json!({ "flights": [1], "total": 1, "page": { "next": "x" } });
        let names = output(&[("results", "flights"), ("more", "page.next"), ("none", "missing")]);
        let expected = json!({ "results": [1], "total": 1, "page": { "next": "x" }, "more": "x" });
        assert_eq!(renamed(data, &names), expected);
        assert_eq!(renamed(json!({ "a": 1, "b": 2 }), &output(&[("a", "b"), ("b", "a")])), json!({ "a": 2, "b": 1 }));
        assert_eq!(renamed(json!([1]), &names), json!([1]));
    }

    #[test]
    fn anything_can_be_wrapped() {
        let ok = StatusCode::OK;
        assert_eq!(wrapped("text/html", ok, b"<p>")["body"], "<p>");
        assert_eq!(wrapped("application/json; charset=utf-8", ok, b"[1]")["body"], json!([1]));
        assert_eq!(wrapped("application/json", ok, b"[1")["body"], "[1");
        assert_eq!(wrapped("application/json", ok, b"[18446744073709551617]")["body"], json!(["18446744073709551617"]));
        assert_eq!(wrapped("text/plain", ok, b"\xff\xfea\0b\0")["body"], "ab");
        assert_eq!(wrapped("text/plain; charset=utf-16be", ok, b"\0a\0b")["body"], "ab");
        assert_eq!(
            wrapped("image/png", ok, b"\xff\x00"),
            json!({ "content_type": "image/png", "status": 200, "body": "/wA=", "encoding": "base64" })
        );
    }

    #[test]
    fn what_is_kept_is_what_was_told() {
        let raw = Some(Raw { content_type: "a/b".into(), body: Bytes::from_static(b"\xff") });
        let flags = Flagged::new(vec!["pii-found;rules=email".into()], true);
        let told = Told { raw, at: 5, flags, ..Told::of(StatusCode::CREATED, json!({ "a": 1 }).into()) };
        assert_eq!(Told::from_kept(&mut told.kept()), Some(told));
    }
}
