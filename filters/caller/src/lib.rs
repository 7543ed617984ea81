//! Callers: what a connection and a request's head prove about the client.
//!
//! A caller is what is proven: the credential, else the agent that signed, else only the address
//! (docs/decisions/0017-proven-callers.md). A name that is only claimed is a hint, and is labelled as claimed.

#![forbid(unsafe_code)]

mod authorization;
mod body_credential;
mod declaration;
pub mod forwarded;
mod identify;
mod issuers;
mod jwk;
mod key;
mod key_set;
pub mod limits;
pub mod link;
mod page_credential;
mod rejected;
mod signature;
pub mod signing;
mod site_credential;
mod token;
mod token_service;
mod told;
mod unproven;

use std::{net::IpAddr, sync::Arc};

pub use body_credential::{Disproved, Judge, Proven, prove, proven};
pub use declaration::EXTENSION;
pub use identify::{Callers, Head, Introspected, Once, authority_of, is_loopback};
pub use issuers::{is_at_home, keys_url, metadata_urls};
pub use link::Link;
pub use page_credential::OnPage;
pub use rejected::Rejected;
pub use site_credential::SiteCredential;
use token::Token;
#[cfg(any(test, feature = "testing"))]
pub use token_service::NoTokenServer;
pub use token_service::{Exchange, TokenServer};
pub use unproven::Unproven;

use frontdesk_state::Subject;

/// Checks that fetched bytes are a JWK Set, so that an error page cannot replace a valid set.
///
/// # Errors
///
/// The reason, for the operator, why they are not.
pub fn check_key_set(json: &[u8]) -> Result<(), String> {
    key_set::entries(json).map(drop)
}

/// How a caller proved its identity, as `X-Frontdesk-Verified` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Proof {
    #[default]
    None,
    Key,
    Token,
    Signature,
}

impl Proof {
    /// The value in headers and logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Key => "key",
            Self::Token => "token",
            Self::Signature => "signature",
        }
    }
}

/// A caller.
#[derive(Debug, Clone)]
pub struct Caller {
    pub address: IpAddr,
    pub proof: Proof,
    /// The API key's name, the token's subject or the signing agent; `None` for an anonymous caller.
    pub name: Option<Arc<str>>,
    /// Whom it is counted as, where something is proven.
    pub subject: Option<Subject>,
    /// The API key's place in the declaration.
    pub key: Option<usize>,
    pub granted: Granted,
    pub agent: Option<Agent>,
    /// `Authorization` holds an API key of ours, which is no business of the site's.
    pub hides_authorization: bool,
    /// The caller's own credential for the site. It proves nothing here.
    pub credential: Option<SiteCredential>,
    /// What a person has allowed this agent, where its token is one of ours (`[auth.login]`).
    pub link: Option<Arc<Link>>,
}

/// The permissions of a credential.
#[derive(Debug, Clone, Default)]
pub enum Granted {
    #[default]
    Nothing,
    Key(Arc<[String]>),
    Token(Arc<Token>),
}

/// The calling agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub name: Arc<str>,
    /// The agent signed the request; otherwise it only claims the name.
    pub verified: bool,
}

/// Maximum bytes of a claimed name; longer ones are cut.
const LONGEST_CLAIM: usize = 128;

impl Agent {
    /// A claimed name; `None` where none of its characters can be shown.
    pub fn claimed(name: &str) -> Option<Self> {
        let shown: String = name.chars().filter(|c| matches!(c, ' '..='~')).take(LONGEST_CLAIM).collect();
        let shown = shown.trim().trim_matches('"');
        (!shown.is_empty()).then(|| Self { name: shown.into(), verified: false })
    }

    /// The subject that limits count: a verified agent by itself, an unverified one together with the known caller (a
    /// credential or an address).
    pub fn subject(&self, by: Subject) -> Subject {
        if self.verified { signer(&self.name) } else { by.claiming(&self.name) }
    }
}

/// The subject of an agent that signed.
fn signer(agent: &str) -> Subject {
    Subject::named(&[b"agent", agent.as_bytes()])
}

impl Caller {
    /// An anonymous caller at this address.
    pub fn at(address: IpAddr) -> Self {
        Self {
            address,
            proof: Proof::None,
            name: None,
            subject: None,
            key: None,
            granted: Granted::Nothing,
            agent: None,
            hides_authorization: false,
            credential: None,
            link: None,
        }
    }

    /// Whether a credential was presented that is valid; a signature is none: it says who, and grants nothing.
    pub fn has_credential(&self) -> bool {
        matches!(self.proof, Proof::Key | Proof::Token)
    }

    /// The scopes that its credential grants.
    pub fn scopes(&self) -> &[String] {
        match &self.granted {
            Granted::Nothing => &[],
            Granted::Key(scopes) => scopes,
            Granted::Token(token) => &token.scopes,
        }
    }

    /// How strongly the caller was authenticated: the token's `acr` and `amr`.
    pub fn authentication(&self) -> &[String] {
        match &self.granted {
            Granted::Token(token) => &token.authentication,
            _ => &[],
        }
    }

    /// The subject that records belong to: the proven identity together with the credential that only the site can
    /// verify, else the address with the claimed name (docs/decisions/0017-proven-callers.md).
    pub fn holder(&self) -> Subject {
        let shown = self.credential.as_ref().and_then(|credential| credential.holder);
        let shown = shown.or_else(|| self.link.as_ref().map(|link| link.subject()));
        match (self.subject, shown, &self.agent) {
            (Some(subject), Some(shown), _) => subject.with(shown),
            (Some(subject), None, _) | (None, Some(subject), _) => subject,
            (None, None, Some(agent)) => Subject::address(self.address).claiming(&agent.name),
            (None, None, None) => Subject::address(self.address),
        }
    }

    /// Whether records can be bound to this caller: something was proven, or shown for the site.
    pub fn is_known(&self) -> bool {
        self.subject.is_some() || self.credential.is_some()
    }

    /// The subject that shares are counted for: the proven one, else the address. A claimed name does not count.
    pub fn counted_as(&self) -> Subject {
        self.subject.unwrap_or_else(|| Subject::address(self.address))
    }

    /// Nobody in particular, who still says which agent it is.
    pub fn disproved(self) -> Self {
        let agent = self.agent.map(|agent| Agent { verified: false, ..agent });
        Self { agent, ..Self::at(self.address) }
    }
}
