//! Identifies a caller from a request's head, trying every supported kind of credential.
//!
//! An invalid credential and a missing one are kept apart. Agent endpoints refuse the first, so that no agent wrongly
//! believes that it is authenticated. On pages both make an unverified caller.

mod linked;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, header};
use url::Url;

use super::{
    Agent, Caller, Granted, Proof, Rejected,
    authorization::bearer,
    issuers::Issuers,
    key::ApiKeys,
    link::{Link, Token as LinkToken},
    page_credential::{self, OnPage},
    signature::{self, Nonce, Signed, SignedAgents},
    signer,
    site_credential::{Authorization, Forwarding},
    token::Token,
    token_service::{Exchange, Introspection, TokenServer},
};
use frontdesk_config::{Login, Settings};
use frontdesk_state::{Subject, keep_past};

/// The API key's header (AHP §8.2).
const X_AHP_KEY: HeaderName = HeaderName::from_static("x-ahp-key");
/// The header in which an agent names itself (AICP §8.2).
const AICP_AGENT: HeaderName = HeaderName::from_static("aicp-agent");

/// The header that announces a signature (RFC 9421 §4.1).
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");

/// A request's head, as far as it says who is asking.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    pub method: &'a Method,
    /// The path as it was sent, query included.
    pub target: &'a str,
    pub headers: &'a HeaderMap,
    /// The client's, as far as it can be believed.
    pub address: IpAddr,
    /// `Host`, or what HTTP/2 has in its place.
    pub authority: &'a str,
    /// The client speaks TLS, to us or to a trusted proxy.
    pub tls: bool,
    /// Seconds since 1970.
    pub now: u64,
}

/// Who is known here, and how they prove it.
#[derive(Debug)]
pub struct Callers {
    keys: ApiKeys,
    /// The name, the counted subject and the scopes of each API key.
    names: Vec<(Arc<str>, Subject, Arc<[String]>)>,
    tokens: Issuers,
    agents: SignedAgents,
    /// What goes on to the site; `None` where no capability is called in the caller's name.
    forwarding: Option<Forwarding>,
    introspection: Option<Introspection>,
    /// People with an account at the site let agents act for them (`[auth.login]`).
    login: Option<Login>,
    /// Gives the token that the site takes for a caller's; `None`: the caller's own goes on.
    pub exchange: Option<Exchange>,
    /// The site's declared authority, without a default port.
    authority: Option<String>,
    /// An unsigned caller is refused at agent endpoints.
    pub signature_required: bool,
    /// Keys that cannot be used: with what was declared alone they are mistakes of it, later something that was fetched.
    pub problems: Vec<String>,
    /// Keys of a declared set that are no use here; others of it are.
    pub notes: Vec<String>,
}

/// A nonce that may be used once, and how long it has to be remembered.
pub struct Once {
    pub subject: Subject,
    pub keeps: Duration,
}

/// What the authorization server says about a token: the operator's, or our own.
pub struct Introspected(Said);

enum Said {
    Token(Result<Arc<Token>, Rejected>),
    Link(Result<Arc<Link>, Rejected>),
}

impl Callers {
    /// Prepares what was declared, and what was fetched since by URL.
    pub fn new(settings: &Settings, fetched: &HashMap<String, Bytes>) -> Self {
        let auth = &settings.auth;
        let (mut problems, mut notes) = (Vec::new(), Vec::new());
        let tokens = Issuers::declared(settings, fetched, (&mut problems, &mut notes));
        let (agents, more) = SignedAgents::new(&auth.signed_agents.keys, fetched);
        problems.extend(more);
        Self {
            keys: ApiKeys::new(&auth.api_keys),
            names: auth
                .api_keys
                .iter()
                .map(|key| (key.name.as_str().into(), holder(&key.name), key.scopes.as_slice().into()))
                .collect(),
            tokens,
            agents,
            forwarding: Forwarding::new(settings),
            introspection: Introspection::new(settings),
            login: auth.login.clone(),
            exchange: Exchange::new(settings),
            authority: settings.site.origin.as_deref().and_then(authority_of),
            signature_required: auth.signed_agents.require,
            problems,
            notes,
        }
    }

    /// How to sign, for a caller without a valid signature; `None` if no signature is accepted.
    pub fn signature_challenge(&self) -> Option<&'static str> {
        (!self.agents.is_empty()).then_some(signature::CHALLENGE)
    }

    /// Finds out who is asking, or why they are nobody in particular. The nonces, each another and as many as one take may
    /// have, have to be used up before the caller is served.
    /// `introspected`: what the authorization server says about its bearer token, where it was asked.
    pub fn identify(
        &self,
        request: &Head<'_>,
        on_page: bool,
        introspected: Option<Introspected>,
    ) -> (Caller, Result<Vec<Once>, Rejected>) {
        let mut caller = Caller::at(request.address);
        let proven = self.prove(&mut caller, request, on_page, introspected);
        if proven.is_err() {
            // The bad signature voids everything else that was proven.
            caller = caller.disproved();
        }
        (caller, proven)
    }

    /// Whether an authorization server is asked about tokens.
    pub fn introspects(&self) -> bool {
        self.introspection.is_some()
    }

    /// What the authorization server says about a request's bearer token; `None`: it is not asked.
    pub async fn introspect(&self, server: &dyn TokenServer, request: &Head<'_>) -> Option<Introspected> {
        let introspection = self.introspection.as_ref()?;
        let presented = only(request.headers, &header::AUTHORIZATION).ok()??;
        let presented = std::str::from_utf8(bearer(presented)?).ok()?;
        let is_ours = self.keys.find(presented.as_bytes()).is_some()
            // A token that is verified here, or is known to be wrong, needs no question.
            || self.tokens.verify(presented, request.now).is_some_and(|verified| {
                !verified.is_err_and(Rejected::may_be_for_the_site)
            });
        if is_ours {
            return None;
        }
        Some(Introspected(Said::Token(introspection.look(server, presented, request.now).await)))
    }

    fn prove(
        &self,
        caller: &mut Caller,
        request: &Head<'_>,
        on_page: bool,
        introspected: Option<Introspected>,
    ) -> Result<Vec<Once>, Rejected> {
        let headers = request.headers;
        caller.agent = headers.get(AICP_AGENT).and_then(|v| v.to_str().ok()).and_then(Agent::claimed);
        if let Some(key) = only(headers, &X_AHP_KEY)? {
            self.by_key(caller, key)?;
        }
        let authorization = match only(headers, &header::AUTHORIZATION)?.and_then(bearer) {
            Some(bearer) => self.by_bearer(caller, bearer, request.now, on_page, introspected)?,
            None => Authorization::Unverified,
        };
        if let Some(forwarding) = self.forwarding.as_ref().filter(|_| !on_page && caller.link.is_none()) {
            // A key of ours in a spelling that no endpoint takes is still none of the site's business.
            let has_key = authorization == Authorization::Unverified
                && matches!(self.authorization_on_page(headers), Some(OnPage::Ours));
            let authorization = if has_key { Authorization::Withheld } else { authorization };
            let is_ours = |value: &[u8]| self.keys.find(value.trim_ascii()).is_some();
            caller.credential = forwarding.of(headers, authorization, request.authority, is_ours);
        }
        if self.agents.is_empty() || !headers.contains_key(SIGNATURE_INPUT) {
            return Ok(Vec::new());
        }
        self.by_signature(caller, request)
    }

    /// Where no key is configured, a presented key is ignored: clients may send theirs to every site.
    fn by_key(&self, caller: &mut Caller, presented: &[u8]) -> Result<(), Rejected> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let index = self.keys.find(presented).ok_or(Rejected::KeyUnknown)?;
        self.is_key(caller, index);
        Ok(())
    }

    /// Whether there is an invalid key in the header that only Frontdesk reads. Keys in other headers may be for the
    /// site.
    pub fn presents_wrong_key(&self, headers: &HeaderMap) -> bool {
        !self.keys.is_empty()
            && matches!(only(headers, &X_AHP_KEY), Ok(Some(presented)) if self.keys.find(presented).is_none())
    }

    /// What the `Authorization` lines of a page hold, where keys are known: one of them, or what may be guesses at one. The
    /// site's own credentials pass there too.
    pub fn authorization_on_page<'h>(&self, headers: &'h HeaderMap) -> Option<OnPage<'h>> {
        if self.keys.is_empty() {
            return None;
        }
        let lines = headers.get_all(header::AUTHORIZATION).iter().map(|line| line.as_bytes());
        page_credential::of_lines(lines, |key| self.keys.find(key).is_some())
    }

    fn is_key(&self, caller: &mut Caller, index: usize) {
        let Some((name, subject, scopes)) = self.names.get(index) else { return };
        caller.granted = Granted::Key(scopes.clone());
        caller.proof = Proof::Key;
        caller.subject = Some(*subject);
        caller.name = Some(name.clone());
        caller.key = Some(index);
    }

    /// An API key or a token. With an `X-AHP-Key` beside it both have to be valid, and the key identifies the caller.
    fn by_bearer(
        &self,
        caller: &mut Caller,
        presented: &[u8],
        now: u64,
        on_page: bool,
        introspected: Option<Introspected>,
    ) -> Result<Authorization, Rejected> {
        let first = caller.proof == Proof::None;
        if self.login.is_some() && LinkToken::is_like(presented) {
            // It is for nobody else, whatever `auth.forward` says.
            return self.by_link(caller, introspected, on_page).map(|()| Authorization::Withheld);
        }
        if let Some(index) = self.keys.find(presented) {
            if first {
                self.is_key(caller, index);
            }
            return Ok(Authorization::Withheld);
        }
        let goes_on = !on_page && self.forwarding.as_ref().is_some_and(|forwarding| forwarding.unverified);
        let presented = std::str::from_utf8(presented).map_err(|_| Rejected::TokenMalformed);
        let by_issuer = || match presented {
            _ if self.tokens.is_empty() => None,
            Err(why) => Some(Err(why)),
            Ok(presented) if on_page => self.tokens.verify_if_ours(presented, now),
            Ok(presented) => self.tokens.verify(presented, now),
        };
        let verified = match introspected {
            Some(Introspected(Said::Token(verified))) => Some(verified),
            Some(Introspected(Said::Link(_))) => return Err(Rejected::TokenNotValid),
            None => by_issuer(),
        };
        let verified = match verified {
            Some(verified) => verified,
            None => {
                if self.introspects() && !goes_on {
                    // The authorization server was not asked: too many wrong credentials came from this address.
                    return Err(Rejected::TokenNotValid);
                }
                let unknown = !self.keys.is_empty() && !goes_on;
                return if unknown { Err(Rejected::KeyUnknown) } else { Ok(Authorization::Unverified) };
            }
        };
        let token = match verified {
            Ok(token) => token,
            Err(why) if goes_on && why.may_be_for_the_site() => return Ok(Authorization::Unverified),
            Err(why) => return Err(why),
        };
        if first {
            caller.proof = Proof::Token;
            caller.subject = Some(Subject::named(&[b"token", token.subject.as_bytes()]));
            caller.name = Some(token.subject.as_str().into());
            caller.granted = Granted::Token(token);
        }
        Ok(Authorization::Verified)
    }

    /// A caller with a credential that came after the head (AHP §D.5). It is verified as in the head, and ignored
    /// where no credentials are configured. If the head has one too, both have to be valid, and the head's identifies
    /// the caller.
    pub fn also(&self, caller: &Caller, presented: &str, now: u64) -> Result<Caller, Rejected> {
        let mut proven = match caller.has_credential() {
            true => caller.clone(),
            false => Caller { agent: caller.agent.clone(), ..Caller::at(caller.address) },
        };
        let presented = presented.as_bytes();
        let presented = bearer(presented).unwrap_or(presented);
        let authorization = self.by_bearer(&mut proven, presented, now, false, None)?;
        // A credential in the head goes on, and not the one in the body.
        proven.credential = caller
            .credential
            .clone()
            .or_else(|| self.forwarding.as_ref().and_then(|forwarding| forwarding.of_body(presented, authorization)));
        Ok(if proven.is_known() { proven } else { caller.clone() })
    }

    /// Whether a signature for this authority is meant for this site. A signature covers the requested name, and a
    /// site that the agent visits could relay the request to us under that name. So where our authority is declared,
    /// the names have to match.
    pub fn answers_to(&self, authority: &str) -> bool {
        let asked = authority.rsplit_once(':').filter(|(_, port)| matches!(*port, "80" | "443"));
        let asked = asked.map_or(authority, |(host, _)| host);
        self.authority.as_deref().is_none_or(|ours| ours.eq_ignore_ascii_case(asked)) || is_loopback(authority)
    }

    /// A signature identifies the agent. The caller is identified by the credential beside it, if there is one.
    fn by_signature(&self, caller: &mut Caller, request: &Head<'_>) -> Result<Vec<Once>, Rejected> {
        let (path, query) = match request.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (request.target, None),
        };
        let signed = Signed {
            method: request.method,
            authority: request.authority,
            scheme: if request.tls { "https" } else { "http" },
            path,
            query,
            headers: request.headers,
        };
        let Some(verified) = self.agents.verify(&signed, request.now)? else { return Ok(Vec::new()) };
        if !self.answers_to(request.authority) {
            return Err(Rejected::SignatureElsewhere);
        }
        if caller.proof == Proof::None {
            caller.proof = Proof::Signature;
            caller.subject = Some(signer(&verified.agent));
            caller.name = Some(verified.agent.clone());
        }
        caller.agent = Some(Agent { name: verified.agent, verified: true });
        let once = |nonce: &Nonce| Once {
            subject: Subject::named(&[nonce.thumbprint.as_bytes(), nonce.text.as_bytes()]),
            keeps: keep_past(nonce.expires, request.now),
        };
        Ok(verified.nonces.iter().map(once).collect())
    }
}

/// The subject that an API key's holder is counted as: the name, so that a rotated key keeps its counts.
fn holder(name: &str) -> Subject {
    Subject::named(&[b"key", name.as_bytes()])
}

/// The authority of an origin, without a default port.
pub fn authority_of(origin: &str) -> Option<String> {
    let url = Url::parse(origin).ok()?;
    let host = url.host_str()?;
    Some(url.port().map_or(host.to_owned(), |port| format!("{host}:{port}")))
}

/// Whether an authority is this machine's loopback; no other machine is reached under it.
pub fn is_loopback(authority: &str) -> bool {
    let port = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let host = port.map_or(authority, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The value of a header that may occur once only.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h [u8]>, Rejected> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(Rejected::CredentialRepeated);
    }
    Ok(first.map(|value| value.as_bytes()))
}
