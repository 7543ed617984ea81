//! The typed settings of callers, limits and the store.

use std::{path::PathBuf, time::Duration};

use url::Url;

use super::{
    settings_login::Login,
    units::{Budget, Rate},
};

/// `[store]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    pub home: StoreHome,
    pub tls: StoreTls,
    pub on_error: OnError,
    /// How long a request waits for a shared store.
    pub patience: Duration,
    /// How many replicas of a shared store must confirm a record; `None`: one, where there are any.
    pub wait_replicas: Option<usize>,
    /// The prefix of every key in a shared store, so that several sites can share it.
    pub prefix: String,
    /// Maximum counters in memory.
    pub max_keys: usize,
    /// Maximum bytes of records, in memory or in the file.
    pub max_records: usize,
}

impl Store {
    /// Whether both settings name the same store, with whatever credentials and timeouts.
    pub fn is_same_place(&self, other: &Self) -> bool {
        let shared = matches!(self.home, StoreHome::Redis(_));
        self.home.place() == other.home.place() && (!shared || self.prefix == other.prefix)
    }
}

/// The TLS settings of a connection to the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreTls {
    /// The CA of the store's certificate; `None`: the system's CAs.
    pub ca: Option<PathBuf>,
    /// Both, or neither.
    pub client_cert: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
}

/// `store.url`.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreHome {
    Memory,
    /// A directory.
    File(PathBuf),
    /// Redis or Valkey, as written: over TCP, TLS or a Unix socket. It may contain a password.
    Redis(String),
}

impl StoreHome {
    /// Host, port and database of the URL, without its other parts.
    fn place(&self) -> (String, u16, String) {
        let url = match self {
            Self::Memory => return (String::new(), 0, String::new()),
            Self::File(path) => return (path.to_string_lossy().into_owned(), 0, "file".into()),
            Self::Redis(url) => url,
        };
        let Ok(url) = Url::parse(url) else { return (url.clone(), 0, String::new()) };
        let database = |text: &str| text.trim_matches('/').parse().unwrap_or(0_i64).to_string();
        match url.host_str().filter(|host| !host.is_empty()) {
            Some(host) => (host.to_ascii_lowercase(), url.port().unwrap_or(6379), database(url.path())),
            None => {
                let named = url.query_pairs().find(|(name, _)| name == "db").map(|(_, number)| database(&number));
                (url.path().to_owned(), 0, named.unwrap_or_else(|| "0".into()))
            }
        }
    }
}

impl std::fmt::Debug for StoreHome {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Memory => "memory",
            Self::File(_) => "file",
            Self::Redis(_) => "redis",
        })
    }
}

/// `store.on_error`: what happens to counters while a shared store is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// Each process counts for itself.
    Local,
    /// Nothing is counted.
    Allow,
    /// Limited requests are refused.
    Deny,
}

/// The parts of `[auth]` that identify callers.
#[derive(Debug, Clone)]
pub struct Auth {
    pub kind: AuthKind,
    pub issuer: Option<String>,
    pub audience: Option<String>,
    pub jwks: Option<Jwks>,
    /// The values of a token's `acr` and `amr` that count as strong authentication.
    pub strong_acr: Vec<String>,
    pub unverified: Unverified,
    /// The caller's header fields that go on to the site with `identity = "caller"`.
    pub forward: Vec<String>,
    /// Where a person can grant further permissions.
    pub authorization_url: Option<String>,
    /// The scopes that the contract names.
    pub available_scopes: Vec<String>,
    /// The issuers whose tokens are taken, published as metadata (RFC 9728).
    pub authorization_servers: Vec<String>,
    /// Where an agent's owner gets a credential.
    pub registration_url: Option<String>,
    pub api_keys: Vec<ApiKey>,
    pub signed_agents: SignedAgents,
    pub visitor: Option<Visitor>,
    pub introspection: Option<TokenEndpoint>,
    pub exchange: Option<ExchangeSettings>,
    pub login: Option<Login>,
}

/// An authorization server whose keys are found by its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer<'a> {
    pub url: &'a str,
    /// What a token may name as its audience.
    pub audiences: Vec<String>,
}

/// An endpoint of the authorization server, and our credentials there.
#[derive(Clone)]
pub struct TokenEndpoint {
    pub url: String,
    pub client_id: String,
    pub client_secret: String,
}

impl std::fmt::Debug for TokenEndpoint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "TokenEndpoint({:?}, {:?})", self.url, self.client_id)
    }
}

/// `[auth.exchange]`.
#[derive(Debug, Clone)]
pub struct ExchangeSettings {
    pub endpoint: TokenEndpoint,
    /// For whom the site's token is meant.
    pub audience: String,
}

/// `[auth.visitor]`: how the site says who is signed in.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// The path that is asked with the visitor's own cookies; a 2xx means that somebody is signed in.
    pub check: String,
    /// JSON pointers into its answer.
    pub subject: String,
    pub name: Option<String>,
    /// Where people sign in.
    pub sign_in: String,
    /// The parameter of `sign_in` for the way back.
    pub return_to: Option<String>,
}

impl Visitor {
    /// The site's own page for signing in, with the way back.
    pub fn sign_in_from(&self, back: &str) -> String {
        let Some(parameter) = &self.return_to else { return self.sign_in.clone() };
        let mark = if self.sign_in.contains('?') { '&' } else { '?' };
        let pair = url::form_urlencoded::Serializer::new(String::new()).append_pair(parameter, back).finish();
        format!("{}{mark}{pair}", self.sign_in)
    }
}

/// `auth.unverified`: what happens to a credential that nothing here can verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unverified {
    /// The caller is refused.
    Refuse,
    /// Capabilities with `identity = "caller"` pass it on, and the site decides.
    Site,
}

impl Auth {
    /// What somebody without a credential is told besides.
    pub fn how_to_register(&self) -> String {
        self.registration_url.as_deref().map(|url| format!(" Get a credential at {url}")).unwrap_or_default()
    }
}

/// `auth.type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthKind {
    None,
    Bearer,
    ApiKey,
    Oauth2,
}

/// `auth.jwks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Jwks {
    /// The text of a file. A changed file is a changed declaration.
    Text(String),
    /// An https URL, fetched in the background.
    Url(String),
}

/// `[[auth.api_keys]]`.
#[derive(Debug, Clone)]
pub struct ApiKey {
    pub name: String,
    pub sha256: [u8; 32],
    pub scopes: Vec<String>,
    /// Replaces `rate_limits.authenticated` for this key.
    pub rate_limit: Option<Rate>,
}

/// `[auth.signed_agents]`.
#[derive(Debug, Clone)]
pub struct SignedAgents {
    /// Agent endpoints refuse unsigned callers.
    pub require: bool,
    pub keys: Vec<AgentKey>,
}

/// `[[auth.signed_agents.keys]]`: a known key, or the URL at which the agent publishes its keys.
#[derive(Debug, Clone)]
pub struct AgentKey {
    /// The agent's origin, as a Signature-Agent header names it.
    pub agent: String,
    pub jwk: Option<serde_json::Value>,
    /// The https URL of the directory; `None` where `jwk` is given.
    pub directory: Option<String>,
}

/// `[rate_limits]`.
#[derive(Debug, Clone)]
pub struct RateLimits {
    pub anonymous: Rate,
    pub authenticated: Rate,
    pub actions: Rate,
    pub content: Rate,
    pub per_agent: Option<Rate>,
    pub site: Option<Rate>,
}

/// `[token_budget]`.
#[derive(Debug, Clone)]
pub struct TokenBudget {
    pub anonymous: Budget,
    pub authenticated: Budget,
    /// Per client address.
    pub daily: Budget,
    /// Maximum tokens of one answer.
    pub max_response: u64,
}

/// `[sessions]`.
#[derive(Debug, Clone)]
pub struct Sessions {
    /// Maximum questions of one session.
    pub max_turns: u32,
    /// How long an unused session lives.
    pub idle: Duration,
    /// Maximum bytes of one question.
    pub max_body: usize,
    /// How long a later answer is kept, and how long a question waits for a person.
    pub results: Duration,
    /// Callbacks may go to this machine over http too. For tests.
    pub allow_http_callbacks: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(url: &str, prefix: &str) -> Store {
        Store {
            home: StoreHome::Redis(url.into()),
            tls: StoreTls::default(),
            on_error: OnError::Local,
            patience: Duration::from_secs(1),
            wait_replicas: None,
            prefix: prefix.into(),
            max_keys: 1,
            max_records: 1,
        }
    }

    #[test]
    fn only_host_port_database_and_prefix_make_another_store() {
        let one = store("redis://u:p@Cache:6379/2", "a");
        for same in
            ["redis://u:other@cache/2", "rediss://cache:6379/2", "valkey://someone:p@cache:6379/2?protocol=resp3"]
        {
            assert!(one.is_same_place(&store(same, "a")), "{same}");
        }
        for other in
            ["redis://u:p@cache2:6379/2", "redis://u:p@cache:6380/2", "redis://u:p@cache:6379/0", "unix:/cache"]
        {
            assert!(!one.is_same_place(&store(other, "a")), "{other}");
        }
        assert!(!one.is_same_place(&store("redis://u:p@cache:6379/2", "b")));
        let socket = store("unix:/run/r.sock?db=2&pass=p", "a");
        assert!(socket.is_same_place(&store("redis+unix:///run/r.sock?user=u&pass=q&db=2", "a")));
        assert!(!socket.is_same_place(&store("unix:/run/r.sock?pass=p", "a")));
        let home = |home| Store { home, ..one.clone() };
        assert!(home(StoreHome::File("/a".into())).is_same_place(&home(StoreHome::File("/a".into()))));
        assert!(!home(StoreHome::File("/a".into())).is_same_place(&home(StoreHome::File("/b".into()))));
        assert!(!home(StoreHome::Memory).is_same_place(&one));
    }
}
