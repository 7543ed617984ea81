//! Confirmations on a page: a call waits until a person has confirmed it there.
//!
//! The agent gets a token as usual, but the token alone confirms nothing. A record holds what is asked and what the
//! person decided. The page is found by a random id that only its address has; the token does not lead to it. A second
//! record leads from the call to its page, so that a call that is repeated without its token asks no second time: it
//! gets the same token and the same page, and a declined call stays declined until the question expires. Both are sealed in
//! the store (`pending_record.rs`).

use std::{
    borrow::Cow,
    mem::take,
    time::{Duration, UNIX_EPOCH},
};

use http::{HeaderName, HeaderValue, Method, header};
use serde_json::{Value, json};
use url::Url;

use super::{
    Asked, Call, ConfirmationPage, Desk,
    date::rfc3339,
    pending_record::Place,
    records::{self, Promises, Token, unguessable},
    step::{Step, Stop},
    trouble::{not_kept, with_a_warning},
    visitor,
};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_caller::{Caller, Proof};
use frontdesk_config::Settings;
use frontdesk_state::{Change, Committed, Expect, NotKept, Put};

/// How long a page can still be read after its question has expired, to say what became of it.
const READABLE: Duration = Duration::from_secs(3600);
/// How long the site may take to accept a notification.
const NOTIFY_WITHIN: Duration = Duration::from_secs(10);
/// Maximum bytes of the answer to a notification; it is not read.
const NOTIFY_ANSWER: usize = 64 * 1024;

/// What the person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Pending,
    Confirmed,
    Declined,
}

impl Decision {
    fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Confirmed => "confirmed",
            Self::Declined => "declined",
        }
    }
}

/// A call that a person is asked about, as the page shows it.
#[derive(Debug, Clone)]
pub struct Pending {
    pub decision: Decision,
    pub summary: String,
    pub consequence: String,
    /// The name of who asks; `None`: nobody in particular.
    pub asker: Option<String>,
    /// The name was verified, and not only claimed.
    pub verified: bool,
    /// When the question expires, in seconds since 1970.
    pub expires: u64,
    /// The only person who may decide, by the site's own name for them; `None`: anybody who is signed in, or has the
    /// address.
    pub subject: Option<String>,
    value: Value,
    version: u64,
}

impl Pending {
    fn read(place: Place<'_>, record: &frontdesk_state::Record) -> Option<Self> {
        let value = place.opened(&record.value)?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Some(Self {
            decision: match value["decision"].as_str()? {
                "pending" => Decision::Pending,
                "confirmed" => Decision::Confirmed,
                _ => Decision::Declined,
            },
            summary: text("summary")?,
            consequence: text("consequence")?,
            asker: text("asker"),
            verified: value["verified"] == true,
            expires: value["expires"].as_u64()?,
            subject: text("subject"),
            version: record.version,
            value,
        })
    }

    /// Whether the question has expired at a time in seconds since 1970.
    pub fn is_over(&self, now: u64) -> bool {
        self.expires <= now
    }
}

/// Finds what a page's id asks about.
///
/// # Errors
///
/// The store is unavailable.
pub async fn look(desk: &Desk<'_>, id: &str) -> Result<Option<Pending>, NotKept> {
    if !records::is_id(id) {
        return Ok(None);
    }
    let place = Place::Page(id);
    Ok(desk.records.get(&place.name()).await?.as_ref().and_then(|record| Pending::read(place, record)))
}

/// Stores what the person decided. `false`: they, or somebody else, had decided before.
///
/// # Errors
///
/// The store is unavailable.
pub async fn decide(desk: &Desk<'_>, id: &str, pending: &Pending, decision: Decision) -> Result<bool, NotKept> {
    let now = desk.records.now();
    if pending.decision != Decision::Pending || pending.is_over(now) {
        return Ok(false);
    }
    let mut value = pending.value.clone();
    value["decision"] = decision.word().into();
    let place = Place::Page(id);
    let put = Put::Value(place.sealed(&value)?, lasts(pending.expires, now));
    let change = Change { key: place.name(), expect: Expect::Version(pending.version), put };
    Ok(matches!(desk.records.commit_safely(&[change]).await?, Committed::Done(_)))
}

/// The address of a page: absolute where the site's origin is declared.
pub fn address(settings: &Settings, id: &str) -> String {
    let origin = settings.site.origin.as_deref().unwrap_or_default().trim_end_matches('/');
    format!("{origin}{}/{id}", settings.paths.confirm.path)
}

fn lasts(expires: u64, now: u64) -> Duration {
    Duration::from_secs(expires.saturating_sub(now)) + READABLE
}

/// A question that was asked about a call before.
struct Before {
    /// The version of the record that leads to it.
    version: u64,
    id: String,
    token: String,
    pending: Option<Pending>,
}

impl Step<'_> {
    /// The confirmation of a call whose token is valid, once the person has confirmed it on the page; `None`: the token
    /// leads to no page.
    ///
    /// # Errors
    ///
    /// The person has not decided yet, or declined.
    pub(super) async fn confirmed_on_page(
        &mut self,
        confirmed: Token,
        token: &str,
        binding: &str,
    ) -> Result<Option<Token>, Stop> {
        let Some(before) = self.before(binding).await? else { return Ok(None) };
        let Some(pending) = before.pending.as_ref().filter(|_| before.token == token) else { return Ok(None) };
        match pending.decision {
            Decision::Confirmed => Ok(Some(confirmed)),
            Decision::Declined => Err(Fault::ConfirmationDeclined.into()),
            Decision::Pending => {
                let (summary, expires) = (pending.summary.clone(), pending.expires);
                Err(self.ask_again(before, summary, expires, Fault::ConfirmationPending))
            }
        }
    }

    /// Asks a person on a page. A call that is asked about already gets the same page.
    pub(super) async fn asked_on_page(
        &mut self,
        promises: &Promises<'_>,
        binding: &str,
        summary: String,
        now: u64,
        fault: Fault,
    ) -> Stop {
        match self.open_page(promises, binding, summary, now, fault).await {
            Ok(stop) | Err(stop) => stop,
        }
    }

    async fn open_page(
        &mut self,
        promises: &Promises<'_>,
        binding: &str,
        summary: String,
        now: u64,
        fault: Fault,
    ) -> Result<Stop, Stop> {
        let before = self.before(binding).await?;
        let expect = before.as_ref().map_or(Expect::Absent, |before| Expect::Version(before.version));
        if let Some(before) = before
            && let Some(pending) = before.pending.as_ref().filter(|pending| !pending.is_over(now))
        {
            let used = || promises.confirmed(&before.token, None, binding, now);
            match pending.decision {
                Decision::Declined => return Ok(Fault::ConfirmationDeclined.into()),
                Decision::Confirmed if used().await.map_err(not_kept)?.is_none() => {}
                _ => {
                    let expires = pending.expires;
                    return Ok(self.ask_again(before, summary, expires, fault));
                }
            }
        }
        let confirmation = &self.capability.confirmation;
        let subject = self.subject().await?;
        let token = promises.offer(binding, confirmation.expires, now).await.map_err(not_kept)?;
        let id = unguessable().map_err(not_kept)?;
        let expires = now + confirmation.expires.as_secs();
        let caller = self.ask.caller;
        let (asker, verified) = asker(caller);
        let page = json!({
            "decision": Decision::Pending.word(), "summary": summary, "consequence": self.consequence(),
            "asker": asker, "verified": verified, "subject": subject, "expires": expires,
        });
        let call = json!({ "id": id, "token": token });
        let (of_page, of_call) = (Place::Page(&id), Place::Call(binding));
        let put = |place: Place<'_>, value: &Value| -> Result<Put, Stop> {
            Ok(Put::Value(place.sealed(value).map_err(not_kept)?, lasts(expires, now)))
        };
        let changes = [
            Change { key: of_page.name(), expect: Expect::Absent, put: put(of_page, &page)? },
            Change { key: of_call.name(), expect, put: put(of_call, &call)? },
        ];
        if !matches!(self.desk.records.commit(&changes).await.map_err(not_kept)?, Committed::Done(_)) {
            let detail = "A person is being asked about this very call. Try again in a moment.";
            return Ok(Refusal { retry_after: Some(1), ..Fault::InFlight.into() }.saying(detail).into());
        }
        if let Some(to) = &confirmation.notify_url
            && let Err(refusal) = self.notify(to, &id, subject.as_deref(), &summary, expires).await
        {
            // The person was not told, so the question is taken back: the next call asks anew.
            let gone = |key| Change { key, expect: Expect::Anything, put: Put::Nothing };
            let _ = self.desk.records.commit(&[gone(of_page.name()), gone(of_call.name())]).await;
            return Ok(refusal.into());
        }
        let before = Before { version: 0, id, token, pending: None };
        Ok(self.ask_again(before, summary, expires, fault))
    }

    /// The request for a confirmation, with the page that it is given on.
    fn ask_again(&mut self, before: Before, summary: String, expires: u64, fault: Fault) -> Stop {
        let page = match &self.capability.confirmation.notify_url {
            Some(_) => ConfirmationPage::Sent,
            None => ConfirmationPage::At(address(&self.desk.compiled.settings, &before.id)),
        };
        let detail = match (fault, &page) {
            (Fault::ConfirmationPending, _) => None,
            (_, ConfirmationPage::At(_)) => Some(
                "A person has to confirm this on a page. Give them its address, and repeat the call with the token once \
                 they have.",
            ),
            (_, ConfirmationPage::Sent) => Some(
                "A person has to confirm this. They were sent a link; repeat the call with the token once they have.",
            ),
        };
        let refusal = Refusal::from(fault);
        let refusal = match detail {
            Some(detail) => refusal.saying(detail),
            None => refusal,
        };
        Stop::Asked(Box::new(Asked {
            refusal,
            summary,
            consequence: self.consequence(),
            expires,
            token: before.token,
            page: Some(page),
            input: take(&mut self.ask.input),
        }))
    }

    /// The question that was asked about this call, where one was.
    async fn before(&self, binding: &str) -> Result<Option<Before>, Stop> {
        let place = Place::Call(binding);
        let found = self.desk.records.get(&place.name()).await.map_err(not_kept)?;
        let Some(record) = found else { return Ok(None) };
        let Some(value) = place.opened(&record.value) else { return Ok(None) };
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let (id, token) = (text("id"), text("token"));
        let pending = look(self.desk, &id).await.map_err(not_kept)?;
        Ok(Some(Before { version: record.version, id, token, pending }))
    }

    /// The person in whose name the call is made, where the site can say who is signed in.
    ///
    /// # Errors
    ///
    /// The site does not accept the caller's own credential, or cannot be asked.
    async fn subject(&self) -> Result<Option<String>, Stop> {
        let Some(visitor) = &self.desk.compiled.settings.auth.visitor else { return Ok(None) };
        let caller = self.ask.caller;
        if let Some(link) = &caller.link {
            return Ok(Some(link.person.to_string()));
        }
        let Some(credential) = &caller.credential else { return Ok(caller.name.as_deref().map(str::to_owned)) };
        if caller.proof == Proof::Token {
            return Ok(caller.name.as_deref().map(str::to_owned));
        }
        match visitor::signed_in(self.desk, visitor, credential.lines()).await? {
            Some(person) => Ok(Some(person.subject)),
            None => {
                let detail = "The site does not accept this credential. Get a new one from the site and try again.";
                Err(Refusal::from(Fault::Unauthenticated).saying(detail).into())
            }
        }
    }

    /// What carrying out the call means, with a warning where the store has lost records.
    fn consequence(&self) -> String {
        match self.desk.records.lost_at() {
            None => self.plan.consequence.clone(),
            Some(at) => with_a_warning(&self.plan.consequence, at),
        }
    }

    /// Tells the site the page's address, for the person.
    async fn notify(
        &self,
        to: &str,
        id: &str,
        subject: Option<&str>,
        summary: &str,
        expires: u64,
    ) -> Result<(), Refusal> {
        let settings = &self.desk.compiled.settings;
        let subject = subject.or(self.ask.caller.name.as_deref());
        let body = json!({
            "url": address(settings, id), "subject": subject, "summary": summary,
            "consequence": self.consequence(), "expires_at": rfc3339(UNIX_EPOCH + Duration::from_secs(expires)),
        });
        static HEADERS: [(HeaderName, HeaderValue); 2] = [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::USER_AGENT, HeaderValue::from_static("frontdesk")),
        ];
        let elsewhere = Url::parse(to).ok();
        let target = match &elsewhere {
            Some(url) => url.query().map_or(url.path().to_owned(), |query| format!("{}?{query}", url.path())),
            None => to.to_owned(),
        };
        let call = Call {
            elsewhere: elsewhere.as_ref(),
            method: &Method::POST,
            target,
            headers: Cow::Borrowed(&HEADERS),
            body: body.to_string().into(),
            limit: NOTIFY_WITHIN.min(settings.upstream.read_timeout),
            send_by: None,
            most: NOTIFY_ANSWER,
            caller: None,
            named: false,
            form: None,
            credential: Cow::Borrowed(&[]),
        };
        match self.desk.upstream.call(call).await {
            Ok(answer) if answer.status.is_success() => Ok(()),
            _ => {
                let detail = "The person could not be sent the question. Nothing was done; try again later.";
                Err(Refusal { reason: "notification_failed", ..Fault::Unavailable.into() }.saying(detail))
            }
        }
    }
}

/// Who asks, and whether that is verified.
fn asker(caller: &Caller) -> (Option<String>, bool) {
    if let Some(link) = &caller.link {
        return (Some(link.agent.to_string()), link.verified);
    }
    match (&caller.agent, &caller.name) {
        (Some(agent), _) if agent.verified => (Some(agent.name.to_string()), true),
        (_, Some(name)) if caller.proof == Proof::Key => (Some(name.to_string()), true),
        (Some(agent), _) => (Some(agent.name.to_string()), false),
        (None, Some(name)) => (Some(name.to_string()), true),
        (None, None) => (None, false),
    }
}
