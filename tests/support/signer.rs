//! An agent that signs its requests (RFC 9421, tag web-bot-auth), correctly or wrongly.

use super::ask::Ask;
use super::jwks::{now, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

pub struct Bot {
    /// The agent's URL.
    pub agent: String,
    pair: Ed25519KeyPair,
}

impl Bot {
    pub fn new(agent: &str) -> Bot {
        let random = ring::rand::SystemRandom::new();
        let bytes = Ed25519KeyPair::generate_pkcs8(&random).expect("an Ed25519 key");
        Bot { agent: agent.to_owned(), pair: Ed25519KeyPair::from_pkcs8(bytes.as_ref()).expect("the key just made") }
    }

    fn x(&self) -> String {
        text(self.pair.public_key())
    }

    /// The key's entry in the agent's directory.
    pub fn jwk(&self) -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "x": self.x(), "kid": self.thumbprint(), "use": "sig" })
    }

    pub fn directory(&self) -> String {
        json!({ "keys": [self.jwk()] }).to_string()
    }

    /// RFC 7638: the hash of the required members in order.
    pub fn thumbprint(&self) -> String {
        text(digest(&SHA256, format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{}\"}}", self.x()).as_bytes()))
    }

    /// The agent's entry in the configuration, with its key.
    pub fn known(&self) -> String {
        let key = format!("{{ kty = \"OKP\", crv = \"Ed25519\", x = \"{}\" }}", self.x());
        format!("\n[[auth.signed_agents.keys]]\nagent = \"{}\"\njwk = {key}\n", self.agent)
    }

    /// A valid signature, which a test may damage.
    pub fn signing(&self) -> Signing<'_> {
        Signing {
            bot: self,
            label: "sig1".into(),
            covered: vec!["\"@authority\"".into()],
            created: Some(now()),
            expires: Some(now() + 60),
            keyid: self.thumbprint(),
            alg: None,
            nonce: None,
            tag: Some("web-bot-auth".into()),
            authority: None,
            flip: false,
        }
    }

    /// Signs the request correctly.
    pub fn sign(&self, ask: Ask) -> Ask {
        self.signing().apply(ask)
    }
}

/// The inputs of a signature. Each of them can be wrong.
#[derive(Clone)]
pub struct Signing<'a> {
    bot: &'a Bot,
    pub label: String,
    /// The covered components in the form of Signature-Input.
    pub covered: Vec<String>,
    pub created: Option<u64>,
    pub expires: Option<u64>,
    pub keyid: String,
    pub alg: Option<String>,
    pub nonce: Option<String>,
    pub tag: Option<String>,
    /// Signed instead of the request's own authority.
    pub authority: Option<String>,
    /// Flips one bit of the signature.
    pub flip: bool,
}

impl Signing<'_> {
    pub fn nonce(mut self, nonce: &str) -> Self {
        self.nonce = Some(nonce.to_owned());
        self
    }

    pub fn cover(mut self, component: &str) -> Self {
        self.covered.push(component.to_owned());
        self
    }

    /// Adds Signature-Input and Signature.
    pub fn apply(&self, ask: Ask) -> Ask {
        let params = self.params();
        let mut base = String::new();
        for component in &self.covered {
            base.push_str(&format!("{component}: {}\n", self.value(component, &ask)));
        }
        base.push_str(&format!("\"@signature-params\": {params}"));
        let mut signature = self.bot.pair.sign(base.as_bytes()).as_ref().to_vec();
        if self.flip {
            signature[10] ^= 1;
        }
        let label = &self.label;
        ask.header("Signature-Input", &format!("{label}={params}"))
            .header("Signature", &format!("{label}=:{}:", STANDARD.encode(signature)))
    }

    fn params(&self) -> String {
        let mut params = format!("({})", self.covered.join(" "));
        let mut number = |name: &str, value: Option<u64>| {
            params.push_str(&value.map(|v| format!(";{name}={v}")).unwrap_or_default());
        };
        number("created", self.created);
        number("expires", self.expires);
        params.push_str(&format!(";keyid=\"{}\"", self.keyid));
        for (name, value) in [("alg", &self.alg), ("nonce", &self.nonce), ("tag", &self.tag)] {
            params.push_str(&value.as_ref().map(|v| format!(";{name}=\"{v}\"")).unwrap_or_default());
        }
        params
    }

    fn value(&self, component: &str, ask: &Ask) -> String {
        let name = component.split(';').next().unwrap_or_default().trim_matches('"');
        let header = |name: &str| {
            let values = ask.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str());
            values.collect::<Vec<_>>().join(", ")
        };
        match name {
            "@authority" => self.authority.clone().unwrap_or_else(|| match header("host") {
                host if host.is_empty() => "site.test".to_owned(),
                host => host.to_ascii_lowercase(),
            }),
            "@method" => ask.method.clone(),
            "@path" => ask.target.split('?').next().unwrap_or_default().to_owned(),
            "signature-agent" if component.contains(";key=") => {
                // For a dictionary member: its value alone.
                let value = header(name);
                value.split_once('=').map(|(_, v)| v.to_owned()).unwrap_or(value)
            }
            name => header(name),
        }
    }
}
