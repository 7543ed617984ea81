//! What holds of message signatures, whatever the fields say: a request counts as an agent's if and only if the agent
//! signed what it says. The text that is signed is made here in another way than the reader's. One list, for the fuzzer
//! and for the tests.

use std::{
    pin::pin,
    sync::LazyLock,
    task::{Context, Poll, Waker},
};

use async_trait::async_trait;
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use ring::{
    digest::{SHA256, digest},
    signature::{Ed25519KeyPair, KeyPair},
};

use super::{
    Learned, Request, Snapshot,
    caller::Proof,
    decide,
    dice::Dice,
    site::{declare_text, testing::Nowhere},
    state::{Amount, Away, Counters, Level, Limit, Settlement, TOGETHER, Taken},
};

const NOW: u64 = 1_800_000_000;
const AGENT: &str = "https://bot.example";

static PAIR: LazyLock<Ed25519KeyPair> =
    LazyLock::new(|| Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("32 bytes are a seed"));
static POINT: LazyLock<String> = LazyLock::new(|| URL_SAFE_NO_PAD.encode(PAIR.public_key()));
static KEYID: LazyLock<String> = LazyLock::new(|| {
    let json = format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{}\"}}", *POINT);
    URL_SAFE_NO_PAD.encode(digest(&SHA256, json.as_bytes()))
});
static SITE: LazyLock<Snapshot> = LazyLock::new(|| {
    let keys = format!(
        "[upstream]\nurl = \"http://127.0.0.1:3000\"\n[[auth.signed_agents.keys]]\nagent = \"{AGENT}\"\n\
         jwk = {{ kty = \"OKP\", crv = \"Ed25519\", x = \"{}\" }}\n",
        *POINT
    );
    let declaration = declare_text("/site.toml".as_ref(), &keys, &Nowhere).expect("a declaration");
    Snapshot::compile(&declaration, &Learned::default())
});

/// Nothing is ever used up.
struct Plenty;

#[async_trait]
impl Counters for Plenty {
    async fn take(&self, _: &[Limit], amount: Amount) -> Result<Taken, Away> {
        Ok(Taken { granted: Some(amount.wanted), levels: [Level::default(); TOGETHER] })
    }

    async fn settle(&self, _: &[Settlement]) -> Result<(), Away> {
        Ok(())
    }
}

/// A request, as far as it can be signed.
#[derive(Clone)]
struct Sent {
    method: Method,
    target: &'static str,
    authority: &'static str,
    tls: bool,
    lines: Vec<(&'static str, String)>,
}

impl Sent {
    /// Whether it counts as the agent's; `None` where it cannot be sent like this.
    fn is_agents(&self) -> Option<bool> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.lines {
            headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).ok()?);
        }
        let request = Request {
            method: &self.method,
            target: self.target,
            headers: &headers,
            address: [192, 0, 2, 1].into(),
            authority: self.authority,
            tls: self.tls,
            now: NOW,
            harness: None,
            token_server: None,
            records: None,
        };
        let decided = pin!(decide(&SITE, &Plenty, &request)).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(decided) = decided else { panic!("nothing is waited for") };
        let agent = decided.caller.agent.filter(|agent| agent.verified);
        assert!(agent.as_ref().is_none_or(|agent| &*agent.name == AGENT));
        assert_eq!(agent.is_some(), decided.caller.proof == Proof::Signature);
        Some(agent.is_some())
    }

    fn path(&self) -> &'static str {
        self.target.split('?').next().unwrap_or_default()
    }

    fn query(&self) -> Option<&'static str> {
        self.target.split_once('?').map(|(_, query)| query)
    }

    /// The authority, as it is signed.
    fn at(&self) -> String {
        let at = self.authority.to_lowercase();
        at.strip_suffix(if self.tls { ":443" } else { ":80" }).unwrap_or(&at).to_owned()
    }

    fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }

    fn values(&self, name: &str) -> Option<Vec<&str>> {
        let lines: Vec<&str> = self.lines.iter().filter(|(n, _)| *n == name).map(|(_, v)| v.trim()).collect();
        (!lines.is_empty()).then_some(lines)
    }

    /// What a component is in this request.
    fn component(&self, component: &str) -> Option<String> {
        Some(match component {
            "\"@method\"" => self.method.to_string(),
            "\"@authority\"" => self.at(),
            "\"@scheme\"" => self.scheme().to_owned(),
            "\"@path\"" => self.path().to_owned(),
            "\"@query\"" => format!("?{}", self.query().unwrap_or_default()),
            "\"@request-target\"" => self.target.to_owned(),
            "\"@target-uri\"" => format!("{}://{}{}", self.scheme(), self.at(), self.target),
            "\"@query-param\";name=\"a\"" => match self.query()? {
                "a=1" => "1".to_owned(),
                "b=2&a=x%20y+z" => "x%20y%20z".to_owned(),
                _ => return None,
            },
            "\"x-a\"" => self.values("x-a")?.join(", "),
            "\"x-a\";bs" => {
                let coded = |line: &&str| format!(":{}:", STANDARD.encode(line));
                self.values("x-a")?.iter().map(coded).collect::<Vec<_>>().join(", ")
            }
            "\"content-digest\"" => self.values("content-digest")?.join(", "),
            "\"content-digest\";sf" => self.values("content-digest").map(|_| "a=:AAAA:, b=(1 2);x".to_owned())?,
            "\"content-digest\";key=\"b\"" => self.values("content-digest").map(|_| "(1 2);x".to_owned())?,
            "\"signature-agent\"" => self.values("signature-agent")?.join(", "),
            _ => return None,
        })
    }
}

const COMPONENTS: [&str; 19] = [
    "\"@authority\"",
    "\"@method\"",
    "\"@scheme\"",
    "\"@path\"",
    "\"@query\"",
    "\"@request-target\"",
    "\"@target-uri\"",
    "\"@query-param\";name=\"a\"",
    "\"x-a\"",
    "\"x-a\";bs",
    "\"content-digest\"",
    "\"content-digest\";sf",
    "\"content-digest\";key=\"b\"",
    "\"signature-agent\"",
    "\"absent\"",
    "\"@status\"",
    "\"x-a\";req",
    "\"@authority\";sf",
    "\"X-A\"",
];

/// Panics where one of them does not hold. The first byte says whether the rest are header fields, or what chooses the
/// words of a signed request.
pub fn hold(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    match choice % 4 {
        0 => any(rest),
        _ => written(&mut Dice(rest)),
    }
}

fn request(dice: &mut Dice) -> Sent {
    let mut sent = Sent {
        method: if dice.yes() { Method::POST } else { Method::GET },
        target: dice.of(&["/agent/converse", "/", "/a?a=1", "/a?b=2&a=x%20y+z", "/a?a=1&a=2", "/a?", "/%C3%A4;x//"]),
        authority: dice.of(&["example.com", "EXAMPLE.com", "example.com:443", "example.com:80", "[::1]:8080"]),
        tls: dice.yes(),
        lines: Vec::new(),
    };
    for _ in 0..dice.below(3) {
        sent.lines.push(("x-a", dice.of(&["", "v", " v, w \t", "\"@authority\": x", ":"]).to_owned()));
    }
    if dice.yes() {
        sent.lines.push(("content-digest", dice.of(&["a=:AAAA:, b=(1 2);x", " a=:AAAA:,\tb=( 1  2 );  x"]).to_owned()));
    }
    if dice.yes() {
        sent.lines.push(("signature-agent", dice.of(&["\"https://bot.example\"", "a=\"https://x.test\""]).to_owned()));
    }
    sent
}

/// A member of `Signature-Input`, as it is sent and as it is signed, and whether such a one can hold.
fn input(dice: &mut Dice, sent: &Sent) -> (String, String, Vec<&'static str>, bool) {
    let covered: Vec<&str> = (0..1 + dice.below(5)).map(|_| dice.of(&COMPONENTS)).collect();
    let created = NOW - 100 + dice.of(&[0, 99, 130, 131, 160]);
    let expires = NOW + dice.of(&[60, 1, 0, 24 * 60 * 60 - 100, 24 * 60 * 60 - 99]);
    let spaces = [dice.of(&["", " ", "  "]), dice.of(&[" ", "   "]), dice.of(&["", " "])];
    let mut parameters = vec![
        format!("created={created}"),
        format!("expires={expires}"),
        format!("keyid=\"{}\"", *KEYID),
        "tag=\"web-bot-auth\"".to_owned(),
    ];
    for more in ["alg=\"ed25519\"", "nonce=\"a\\\"b\\\\\"", "z", "x=1.5", "y=:AA==:"] {
        if dice.yes() {
            parameters.insert(dice.below(parameters.len() + 1), more.to_owned());
        }
    }
    let signed = format!("({});{}", covered.join(" "), parameters.join(";"));
    let [outer, between, after] = spaces;
    let wire = format!("({outer}{}{outer});{after}{}", covered.join(between), parameters.join(&format!(";{after}")));
    let once = covered.iter().enumerate().all(|(n, one)| !covered[..n].contains(one));
    let made = covered.iter().all(|one| sent.component(one).is_some());
    let in_time = created <= NOW + 30 && expires > NOW && expires > created && expires - created <= 24 * 60 * 60;
    let has = |wanted: &[&str]| covered.iter().any(|one| wanted.contains(&one.split(';').next().unwrap_or_default()));
    let addressed = has(&["\"@authority\"", "\"@target-uri\""]);
    let named = sent.values("signature-agent").is_none() || has(&["\"signature-agent\""]);
    (wire, signed, covered, once && made && in_time && addressed && named)
}

fn sign(sent: &Sent, covered: &[&str], signed: &str) -> String {
    let lines = covered.iter().map(|one| format!("{one}: {}\n", sent.component(one).unwrap_or_default()));
    let base = lines.collect::<String>() + "\"@signature-params\": " + signed;
    STANDARD.encode(PAIR.sign(base.as_bytes()))
}

fn written(dice: &mut Dice) {
    let mut sent = request(dice);
    let (wire, signed, covered, good) = input(dice, &sent);
    let signature = sign(&sent, &covered, &signed);
    sent.lines.push(("signature-input", format!("sig1={wire}")));
    sent.lines.push(("signature", format!("sig1=:{signature}:")));
    assert_eq!(sent.is_agents(), Some(good), "{wire} of {:?}", sent.lines);
    if !good {
        return;
    }
    // Another agent's signature beside it changes nothing.
    let mut beside = sent.clone();
    beside.lines.insert(0, ("signature-input", "other=(\"absent\");tag=\"other\"".to_owned()));
    assert_eq!(beside.is_agents(), Some(!covered.contains(&"\"signature-input\"")));
    // What is covered cannot be changed, and what is not can.
    let mut other = sent.clone();
    match dice.below(6) {
        0 => other.method = Method::PUT,
        1 => other.target = "/other?a=3",
        2 => other.authority = "other.example",
        3 => other.tls = !other.tls,
        4 => other.lines.insert(0, ("x-a", "more".to_owned())),
        _ => {
            let at = dice.below(signature.len() - 4);
            let mut bad = signature.clone().into_bytes();
            bad[at] = if bad[at] == b'A' { b'B' } else { b'A' };
            let bad = String::from_utf8(bad).expect("ASCII");
            other.lines.retain(|(name, _)| *name != "signature");
            other.lines.push(("signature", format!("sig1=:{bad}:")));
            assert_eq!(other.is_agents(), Some(false));
            return;
        }
    }
    let same = covered.iter().all(|one| other.component(one) == sent.component(one));
    assert_eq!(other.is_agents(), Some(same), "{wire} of {:?}", other.lines);
}

/// Arbitrary header fields, one line each. Beside a valid signature they never change the agent.
fn any(bytes: &[u8]) {
    let plain = |lines| Sent { method: Method::GET, target: "/a?a=1", authority: "example.com", tls: true, lines };
    let names = ["signature-input", "signature", "signature-agent", "x-a"];
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<_> = names.into_iter().zip(text.split('\n').map(str::to_owned)).collect();
    let Some(agents) = plain(lines.clone()).is_agents() else { return };
    assert!(!agents, "{lines:?}");
    let input = format!(
        "(\"@authority\" \"@path\");created={NOW};expires={};keyid=\"{}\";tag=\"web-bot-auth\"",
        NOW + 60,
        *KEYID
    );
    let signature = sign(&plain(Vec::new()), &["\"@authority\"", "\"@path\""], &input);
    let good = [("signature-input", format!("sig1={input}")), ("signature", format!("sig1=:{signature}:"))];
    assert_eq!(plain(good.to_vec()).is_agents(), Some(true));
    let both = plain(lines.iter().cloned().chain(good.clone()).collect());
    both.is_agents();
    // The last of a label counts; without one of ours before it nothing of theirs is looked at.
    let others: Vec<_> = lines.into_iter().filter(|(name, _)| !name.starts_with("signature")).collect();
    assert_eq!(plain(others.into_iter().chain(good).collect()).is_agents(), Some(true));
}
