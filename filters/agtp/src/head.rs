//! The headers of a request: the claimed Agent-ID and scopes, and the session, task and contract it belongs to.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};

use super::{attribution::is_owner, response::AgtpError};
use frontdesk_base::text;

const AGENT_ID: HeaderName = HeaderName::from_static("agent-id");
const OWNER_ID: HeaderName = HeaderName::from_static("owner-id");
const AUTHORITY_SCOPE: HeaderName = HeaderName::from_static("authority-scope");
const SESSION_ID: HeaderName = HeaderName::from_static("session-id");
const TASK_ID: HeaderName = HeaderName::from_static("task-id");
const CONTRACT: HeaderName = HeaderName::from_static("contract-synthesized");
/// An alias that the drafts use once.
const CONTRACT_ALIAS: HeaderName = HeaderName::from_static("synthesis-id");
const ALLOW_RCNS: HeaderName = HeaderName::from_static("allow-rcns");
const DELEGATION: HeaderName = HeaderName::from_static("delegation-chain");

/// Maximum bytes of a repeated name.
const LONGEST: usize = 128;
/// The form of such a name, in words.
pub(super) const VISIBLE: &str = "1 to 128 visible characters of ASCII";
/// Maximum claimed scopes.
const MOST_SCOPES: usize = 64;

/// The headers of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Head<'a> {
    /// 64 lower-case hex digits; claimed, not proven.
    pub(super) agent: Option<&'a str>,
    /// The claimed scopes; `None`: no claim.
    pub(super) scopes: Option<Vec<&'a str>>,
    pub(super) session: Option<&'a str>,
    pub(super) task: Option<&'a str>,
    /// The contract of the call.
    pub(super) contract: Option<&'a str>,
    pub(super) allows_negotiation: bool,
}

impl<'a> Head<'a> {
    /// Reads the headers. A request over HTTP cannot allow negotiation.
    ///
    /// # Errors
    ///
    /// A header is malformed.
    pub(super) fn read(headers: &'a HeaderMap, over_http: bool) -> Result<Self, AgtpError> {
        let agent = once(headers, &AGENT_ID)?;
        if let Some(agent) = agent
            && !is_canonical(agent)
        {
            let message = "Agent-ID has to be 64 small hex digits, the canonical id of the agent that asks.";
            return Err(AgtpError::new(400, "invalid-canonical-id", message));
        }
        if once(headers, &OWNER_ID)?.is_some_and(|owner| !is_owner(owner)) {
            let message = "Owner-ID has to be 1 to 256 letters, digits and - _ : .";
            return Err(AgtpError::new(400, "invalid-owner-id", message));
        }
        if headers.contains_key(DELEGATION) {
            let message = "Delegation-Chain is not understood here. Ask without it.";
            return Err(AgtpError::new(501, "not-implemented", message));
        }
        // A suspended session is recognised by its id, so an invalid id is an error.
        let session = once(headers, &SESSION_ID)?;
        if session.is_some() && passed(session).is_none() {
            return Err(AgtpError::new(400, "invalid-session-id", format!("Session-ID has to be {VISIBLE}.")));
        }
        let scopes = match once(headers, &AUTHORITY_SCOPE)? {
            Some(text) => Some(scopes(text)?),
            None => None,
        };
        let contract = match once(headers, &CONTRACT)? {
            None => once(headers, &CONTRACT_ALIAS)?,
            contract => contract,
        };
        Ok(Self {
            agent,
            scopes,
            session,
            task: passed(once(headers, &TASK_ID)?),
            contract,
            allows_negotiation: !over_http && once(headers, &ALLOW_RCNS)? == Some("true"),
        })
    }

    /// Whether a scope is claimed, literally or by a claim with `*`.
    pub(super) fn claims(&self, scope: &str) -> bool {
        self.scopes.as_ref().is_some_and(|claimed| claimed.iter().any(|claim| covers(claim, scope)))
    }
}

/// Whether an id is a canonical Agent-ID.
pub(super) fn is_canonical(id: &str) -> bool {
    id.len() == 64 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A value that may be repeated: visible and short. Any other is ignored.
pub(super) fn passed(text: Option<&str>) -> Option<&str> {
    text.filter(|text| (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()))
}

/// `booking:*` covers `booking:room`, but nothing deeper.
fn covers(claim: &str, scope: &str) -> bool {
    let (mut claim, mut scope) = (claim.split(':'), scope.split(':'));
    loop {
        match (claim.next(), scope.next()) {
            (None, None) => return true,
            (Some(one), Some(other)) if one == "*" || one == other => {}
            _ => return false,
        }
    }
}

/// `token *(OWS "," OWS token)`; a token has at least two parts.
fn scopes(text: &str) -> Result<Vec<&str>, AgtpError> {
    let wrong = |what: Cow<'static, str>| AgtpError::new(400, "invalid-authority-scope", what);
    let mut scopes = Vec::new();
    for token in text.split(',').map(|token| token.trim_matches([' ', '\t'])) {
        if !is_scope(token) {
            let what = "Authority-Scope has to be scopes such as \"booking:room\", parted by commas: small letters, digits, - and _.";
            return Err(wrong(what.into()));
        }
        if scopes.len() == MOST_SCOPES {
            return Err(wrong(format!("Authority-Scope may name at most {MOST_SCOPES} scopes.").into()));
        }
        scopes.push(token);
    }
    Ok(scopes)
}

/// Whether a text has the form of a scope: at least two parts.
pub fn is_scope(token: &str) -> bool {
    let part = |part: &str| {
        part == "*"
            || !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
    };
    token.split(':').count() >= 2 && token.split(':').all(part)
}

/// The value of a header that may occur once only.
fn once<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, AgtpError> {
    text::once(headers, name).map_err(|twice| AgtpError::new(400, "bad-request", twice.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&'static str, &str)]) -> Result<(), (u16, String)> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        Head::read(&headers, false).map(drop).map_err(|wrong| (wrong.status, wrong.code.into_owned()))
    }

    #[test]
    fn an_agent_has_a_canonical_id_or_none() {
        assert_eq!(read(&[]), Ok(()));
        assert_eq!(read(&[("agent-id", &"a0".repeat(32))]), Ok(()));
        for id in ["agt-7f3a", &"A0".repeat(32), &"a".repeat(63), &"g".repeat(64)] {
            assert_eq!(read(&[("agent-id", id)]), Err((400, "invalid-canonical-id".into())), "{id}");
        }
        let id = "a0".repeat(32);
        assert_eq!(read(&[("agent-id", &id), ("agent-id", &id)]).unwrap_err().0, 400);
    }

    #[test]
    fn an_owner_is_optional_and_judged_by_its_grammar() {
        assert_eq!(read(&[("owner-id", "owner:example.test")]), Ok(()));
        assert_eq!(read(&[("owner-id", "a b")]), Err((400, "invalid-owner-id".into())));
    }

    #[test]
    fn a_session_has_a_name_that_it_can_be_held_to() {
        assert_eq!(read(&[("session-id", &"s".repeat(128))]), Ok(()));
        for id in ["", "a b", "caf\u{e9}", &"s".repeat(129)] {
            assert_eq!(read(&[("session-id", id)]).unwrap_err().0, 400, "{id}");
        }
        assert_eq!(read(&[("task-id", "a b")]), Ok(()), "that one is only echoed");
    }

    #[test]
    fn a_star_stands_for_one_part() {
        assert!(covers("booking:*", "booking:room") && covers("*:query", "documents:query") && covers("a:b", "a:b"));
        assert!(!covers("booking:*", "booking:room:x") && !covers("a:b", "a:c") && !covers("*:*", "a"));
        assert_eq!(read(&[("authority-scope", "documents:query, booking:*,\t*:query")]), Ok(()));
        for wrong in ["", "documents", "Documents:query", "a::b", "a:b,", "a b:c", "a:*b"] {
            assert_eq!(read(&[("authority-scope", wrong)]), Err((400, "invalid-authority-scope".into())), "{wrong}");
        }
    }

    #[test]
    fn nobody_negotiates_over_http() {
        let mut headers = HeaderMap::new();
        headers.insert("allow-rcns", "true".parse().unwrap());
        assert!(Head::read(&headers, false).unwrap().allows_negotiation);
        assert!(!Head::read(&headers, true).unwrap().allows_negotiation);
        headers.insert("allow-rcns", "optimistic".parse().unwrap());
        assert!(!Head::read(&headers, false).unwrap().allows_negotiation);
    }
}
