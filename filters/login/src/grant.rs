//! The token endpoint: a code for tokens, and a refresh token for new ones (RFC 6749 §4.1.3, §6).
//!
//! A code or a refresh token that comes a second time was stolen, from the client or by it: the link ends. So it does for a
//! code that comes with anything wrong.

use frontdesk_answers::Cookies;
use frontdesk_base::{media, reply::Reply, text::hex};
use frontdesk_caller::link::{
    Consent, EndedClients, Found, Key, Kind, Link, LinkId, LinkRecord, Sealed, Token, end, find, lasts,
};
use frontdesk_config::{Capability, Login, Visitor};
use frontdesk_desk::{Desk, Incoming, records::confirmation_secret};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put};
use http::{StatusCode, header};
use ring::hmac;
use serde_json::json;

use crate::{
    authorization_request::{Parameters, in_their_name, resource},
    code::{self, Allowed},
    list::{List, Listed},
    pkce,
    reply::{Answer, away, error, json_reply},
    request_limits, visit,
};

/// How often a change is tried again that another one came before.
const TRIES: usize = 8;

fn refused(code: &str, why: &str) -> Answer {
    error(StatusCode::BAD_REQUEST, code, why).into()
}

/// The one answer to a code or refresh token that is not taken: the reason is nobody's business.
fn invalid_grant() -> Answer {
    refused("invalid_grant", "This code or refresh token is not valid, or no longer. Ask the person anew.")
}

/// Reads the form of a request.
pub(crate) fn form(request: &Incoming<'_>) -> Result<Parameters, Answer> {
    let kind = request.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !media::essence(kind).eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(refused("invalid_request", "The body has to be application/x-www-form-urlencoded."));
    }
    Parameters::read(&request.body, "").map_err(|why| refused("invalid_request", why))
}

/// Answers a request for tokens.
pub(crate) async fn token(desk: &Desk<'_>, (login, visitor): (&Login, &Visitor), request: &Incoming<'_>) -> Answer {
    let form = match form(request) {
        Ok(form) => form,
        Err(refusal) => return refusal,
    };
    if let Err(refusal) =
        request_limits::for_tokens(desk, request.caller, form.get("client_id").unwrap_or_default()).await
    {
        return refusal;
    }
    let given = match form.get("grant_type") {
        Some("authorization_code") => of_code(desk, login, &form).await,
        Some("refresh_token") => of_refresh_token(desk, (login, visitor), &form).await,
        Some(_) => Err(refused("unsupported_grant_type", "Only authorization_code and refresh_token are known here.")),
        None => Err(refused("invalid_request", "grant_type is missing.")),
    };
    given.unwrap_or_else(|refusal| refusal)
}

/// Whether the resource of a token request is that of the authorization request.
fn is_same_resource(desk: &Desk<'_>, login: &Login, form: &Parameters, before: &str) -> bool {
    match form.get("resource") {
        None => true,
        // A client that named none before may name ours now.
        asked => {
            resource(&desk.compiled.settings, login, asked).is_some_and(|asked| before.is_empty() || asked == before)
        }
    }
}

async fn of_code(desk: &Desk<'_>, login: &Login, form: &Parameters) -> Result<Answer, Answer> {
    let client = form.get("client_id").ok_or_else(|| refused("invalid_request", "client_id is missing."))?;
    let verifier = form.get("code_verifier").ok_or_else(|| refused("invalid_request", "code_verifier is missing."))?;
    let code = form.get("code").and_then(|code| Token::parse(code, Kind::Code)).ok_or_else(invalid_grant)?;
    let (allowed, used) = match code::find(desk.records, &code).await? {
        code::Found::Nothing => return Err(invalid_grant()),
        code::Found::Used => return Err(replayed(desk, &code).await?),
        code::Found::Valid(allowed, used) => (allowed, used),
    };
    let is_right = allowed.client == client
        && allowed.issuer == login.issuer
        && form.get("redirect_uri").is_none_or(|uri| uri == allowed.redirect_uri)
        && pkce::verifies(verifier, &allowed.challenge);
    // The operator may have ended all of this client a moment ago.
    let is_right = is_right && !EndedClients::read(desk.records).await?.have(client, allowed.given);
    let is_target = is_same_resource(desk, login, form, &allowed.resource);
    if !is_right || !is_target {
        // It is in wrong hands, or its client is broken. Nobody gets anything for it any more.
        desk.records.commit_safely(&[used.used()]).await?;
        let wrong_target = || refused("invalid_target", "The resource is not the one that was asked for.");
        return Err(if is_right { wrong_target() } else { invalid_grant() });
    }
    let (records, now) = (desk.records, desk.records.now());
    let until = now + login.link_ttl.as_secs();
    let key = Key::new()?;
    let known_as = pseudonym(desk, &allowed.person).await?;
    let (record, tokens) = made(login, &code, (&key, known_as), &allowed, now)?;
    for _ in 0..TRIES {
        let mut list = List::of(records, &login.issuer, &allowed.person).await?;
        let ended = list.add(Listed {
            id: code.id,
            client: allowed.client.clone(),
            agent: allowed.agent.clone(),
            verified: allowed.verified,
            capabilities: allowed.capabilities.clone(),
            created: now,
            until,
        });
        let put = Put::Value(record.written(), lasts(until, now));
        let mut changes =
            vec![used.used(), list.change(now), Change { key: code.id.place(), expect: Expect::Absent, put }];
        let gone = |key| Change { key, expect: Expect::Anything, put: Put::Nothing };
        changes.extend(ended.into_iter().flat_map(|id| [gone(id.place()), gone(id.noted())]));
        match records.commit_safely(&changes).await? {
            Committed::Done(_) => {
                return Ok(Answer::with_event(tokens.reply(&scope(desk, &allowed.capabilities)), "linked"));
            }
            Committed::Conflict(1, _) => {}
            Committed::Conflict(..) => return Err(replayed(desk, &code).await?),
        }
    }
    Err(away().into())
}

/// Ends the link of a code that came a second time.
async fn replayed(desk: &Desk<'_>, code: &Token) -> Result<Answer, NotKept> {
    end(desk.records, code.id).await?;
    Ok(Answer::with_event(invalid_grant().reply, "replayed"))
}

/// Tokens that were given.
struct Tokens {
    access: Token,
    refresh: Token,
    expires_in: u64,
}

impl Tokens {
    fn new(login: &Login, id: LinkId, record: &LinkRecord, now: u64) -> Result<Self, NotKept> {
        let expires_in = login.access_ttl.as_secs().min(record.until.saturating_sub(now));
        Ok(Self { access: Token::new(Kind::Access, id)?, refresh: record.refresh_token(id)?, expires_in })
    }

    fn reply(&self, scope: &[&str]) -> Reply {
        let body = json!({
            "access_token": self.access.text(), "token_type": "Bearer", "expires_in": self.expires_in,
            "refresh_token": self.refresh.text(), "scope": scope.join(" "),
        });
        json_reply(StatusCode::OK, &body)
    }
}

/// The ids of the capabilities that a consent covers as they are declared now.
fn scope<'d>(desk: &'d Desk<'_>, allowed: &[Consent]) -> Vec<&'d str> {
    let is_covered = |capability: &&Capability| allowed.iter().any(|consent| consent.covers(capability));
    in_their_name(&desk.compiled.settings).filter(is_covered).map(|capability| capability.id.as_str()).collect()
}

/// What a person is called in logs: the same text each time, which only a reader of the store can compute from the site's
/// name for them.
async fn pseudonym(desk: &Desk<'_>, person: &str) -> Result<String, NotKept> {
    let secret = confirmation_secret(desk.records).await?;
    let tag = hmac::sign(&secret, &[b"frontdesk: a person in logs\0", person.as_bytes()].concat());
    Ok(format!("person-{}", hex(&tag.as_ref()[..8])))
}

/// The record of a new link, and its first tokens.
fn made(
    login: &Login,
    code: &Token,
    (key, known_as): (&Key, String),
    allowed: &Allowed,
    now: u64,
) -> Result<(LinkRecord, Tokens), NotKept> {
    let until = now + login.link_ttl.as_secs();
    let agent = (allowed.agent.as_str(), allowed.verified);
    let mut record = LinkRecord::new((&login.issuer, &allowed.client), agent, &allowed.capabilities, now, until)?;
    let sealed = Sealed { person: allowed.person.clone(), known_as, cookies: allowed.cookies.clone() };
    record.seal(code.id, key, &sealed)?;
    let tokens = Tokens::new(login, code.id, &record, now)?;
    record.take(key, (&tokens.access, now + tokens.expires_in, None), &tokens.refresh, now)?;
    Ok((record, tokens))
}

async fn of_refresh_token(
    desk: &Desk<'_>,
    (login, visitor): (&Login, &Visitor),
    form: &Parameters,
) -> Result<Answer, Answer> {
    let client = form.get("client_id").ok_or_else(|| refused("invalid_request", "client_id is missing."))?;
    let token = form.get("refresh_token").and_then(|token| Token::parse(token, Kind::Refresh));
    let token = token.ok_or_else(invalid_grant)?;
    if !is_same_resource(desk, login, form, "") {
        return Err(refused("invalid_target", "The resource is not this site."));
    }
    let (records, now) = (desk.records, desk.records.now());
    for _ in 0..TRIES {
        let Found { mut record, version, .. } = find(records, token.id).await?.ok_or_else(invalid_grant)?;
        if record.until <= now || record.issuer != login.issuer || !login.takes(&record.client) {
            return Err(invalid_grant());
        }
        let key = record.refreshed_by(&token, now).filter(|_| record.client == client);
        let Some(key) = key else {
            // An earlier refresh token of this link, or one in another client's hands, was stolen. An invented one ends
            // nothing.
            return Err(if record.has_given(&token) { replayed(desk, &token).await? } else { invalid_grant() });
        };
        let scope = scope(desk, &record.capabilities);
        // Less may be asked for, and the next time all again (RFC 6749 §6).
        let asked = form.get("scope").unwrap_or_default().split(' ').filter(|scope| !scope.is_empty());
        let asked: Vec<&str> = asked.collect();
        if asked.iter().any(|asked| !scope.contains(asked)) {
            return Err(refused("invalid_scope", "The person has not allowed that."));
        }
        let only = (!asked.is_empty()).then(|| asked.iter().map(|scope| (*scope).to_owned()).collect());
        let link = record.open(token.id, key.clone()).ok_or_else(invalid_grant)?;
        if !is_signed_in(desk, visitor, &link).await? {
            if link.is_renewed(records).await {
                continue;
            }
            end(records, token.id).await?;
            return Err(Answer::with_event(invalid_grant().reply, "ended"));
        }
        let tokens = Tokens::new(login, token.id, &record, now)?;
        record.take(&key, (&tokens.access, now + tokens.expires_in, only), &tokens.refresh, now)?;
        let put = Put::Value(record.written(), lasts(record.until, now));
        let change = Change { key: token.id.place(), expect: Expect::Version(version), put };
        if let Committed::Done(_) = records.commit_safely(&[change]).await? {
            let scope = if asked.is_empty() { scope } else { asked };
            return Ok(Answer::with_event(tokens.reply(&scope), "refreshed"));
        }
    }
    Err(away().into())
}

/// Whether the person is still signed in at the site.
async fn is_signed_in(desk: &Desk<'_>, visitor: &Visitor, link: &Link) -> Result<bool, Answer> {
    let found = visit::stand_for(desk, visitor, &Cookies::read(&link.cookies), &link.person).await;
    found.map_err(|_| {
        let why = "The site cannot be asked at the moment. The token stays valid; try again later.";
        error(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", why).into()
    })
}

/// Answers a revocation (RFC 7009). A refresh token ends the link, an access token itself alone.
pub(crate) async fn revoke(desk: &Desk<'_>, request: &Incoming<'_>) -> Answer {
    let form = match form(request) {
        Ok(form) => form,
        Err(refusal) => return refusal,
    };
    if let Err(refusal) =
        request_limits::for_tokens(desk, request.caller, form.get("client_id").unwrap_or_default()).await
    {
        return refusal;
    }
    match form.get("token") {
        None => refused("invalid_request", "token is missing."),
        Some(token) => match revoked(desk, &form, token).await {
            // What is not valid is as good as revoked.
            Ok(link_event) => Answer { link_event, ..json_reply(StatusCode::OK, &json!({})).into() },
            Err(refusal) => refusal,
        },
    }
}

async fn revoked(desk: &Desk<'_>, form: &Parameters, token: &str) -> Result<Option<&'static str>, Answer> {
    let (records, now) = (desk.records, desk.records.now());
    let Some(token) = Token::parse_any(token) else { return Ok(None) };
    for _ in 0..TRIES {
        let Some(Found { mut record, version, .. }) = find(records, token.id).await? else { return Ok(None) };
        let is_of_link = match token.kind {
            Kind::Refresh => record.has_given(&token),
            Kind::Access => record.opened_by(&token, now).is_ok(),
            Kind::Code => false,
        };
        // Who only knows the id of a link learns nothing about it.
        if !is_of_link {
            return Ok(None);
        }
        if form.get("client_id").is_some_and(|client| client != record.client) {
            return Err(refused("invalid_client", "The token is not this client's."));
        }
        if token.kind == Kind::Refresh {
            end(records, token.id).await?;
            return Ok(Some("ended"));
        }
        record.forget(&token);
        let put = Put::Value(record.written(), lasts(record.until, now));
        let change = Change { key: token.id.place(), expect: Expect::Version(version), put };
        if let Committed::Done(_) = records.commit_safely(&[change]).await? {
            return Ok(Some("revoked"));
        }
    }
    Err(away().into())
}
