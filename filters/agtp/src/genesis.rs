//! The Genesis of the hosted agent: its identity, and its trust level (AGTP-API §5.8.1, §5.8.2).
//!
//! It is verified when it is loaded. An Agent-ID is the hash of the document's canonical form. The drafts do not say
//! what that form is where the document contains its own id, nor how text is escaped. So the known forms are tried in
//! a fixed order, and the operator gets a note if it was not the first.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::{
    ascii,
    jws::{canonical, hash},
};
use frontdesk_base::strict;
use frontdesk_caller::signing::{is_signed, pem_body};

/// Maximum bytes of a file.
const LONGEST: usize = 64 * 1024;
/// The trust anchors of tier 1 (AGTP-TRUST). None can be verified here.
const ANCHORED: [&str; 3] = ["dns-anchored", "log-anchored", "hybrid"];
/// The trust path that remains where no anchor was verified.
const ORG_ASSERTED: &str = "org-asserted";
const INCOMPLETE: &str = "verification-incomplete";
const UNSUPPORTED: &str = "verification-path-unsupported";
/// The prefix of an Ed25519 key's SubjectPublicKeyInfo (RFC 8410), before its 32 bytes.
const SPKI: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
/// Padding is optional: some tools write it, most do not.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// The usual members of a Genesis besides key and signature.
const USUAL: [&str; 5] = ["owner", "archetype", "governance_zone", "scope", "issued_at"];

/// A canonical form of JSON.
type Write = fn(&Map<String, Value>) -> Vec<u8>;

/// The forms that a signature may cover, in the order tried. The id is the hash of the same form without `agent_id`.
const FORMS: [(Write, bool, &str); 4] = [
    (canonical, false, "RFC 8785 without agent_id"),
    (canonical, true, "RFC 8785 with agent_id"),
    (ascii::written, false, "ASCII (as Python's json.dumps writes) without agent_id"),
    (ascii::written, true, "ASCII (as Python's json.dumps writes) with agent_id"),
];

/// The hosted agent, verified.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hosted {
    /// 64 lower-case hex digits.
    pub agent_id: String,
    pub name: String,
    pub owner: Option<String>,
    pub(crate) principal: Option<String>,
    pub(crate) principal_id: Option<String>,
    pub description: Option<String>,
    pub(crate) archetype: Option<String>,
    pub(crate) governance_zone: Option<String>,
    pub scope: Vec<String>,
    pub(crate) issued_at: Option<String>,
    pub issuer: Option<String>,
    /// Resolved: 2, or 3 where no owner is named.
    pub tier: u8,
    /// Resolved.
    pub path: &'static str,
    pub warning: Option<&'static str>,
    /// Which form of it verified.
    pub form: &'static str,
    /// The canonical form with its signature: what is served.
    pub document: Bytes,
}

impl Hosted {
    /// Parses and verifies a file. Returns notes for the operator, each a clause that continues the key's name.
    ///
    /// # Errors
    ///
    /// Why it is no valid Genesis, as a clause that continues the key's name.
    pub fn read(file: &[u8]) -> Result<(Self, Vec<String>), String> {
        let members = parse(file)?;
        let read = Read(&members);
        let signature = read.signature()?;
        let key = read.key()?;
        let (write, form) = verify(&members, &signature, &key)?;
        let agent_id = hash(&write(&without(&members, true)));
        if let Some(said) = read.text("agent_id")?
            && said != agent_id
        {
            return Err(format!("says that its agent_id is \"{}\", but hashes to {agent_id}", shown(&said)));
        }
        let mut notes = Vec::new();
        if form != FORMS[0].2 {
            notes.push(format!("is signed over another form than most expect: {form}"));
        }
        let document = Bytes::from(write(&members));
        if document != file.trim_ascii_end() {
            notes.push("is not in canonical form; its canonical form is what is served".to_owned());
        }
        let owner = read.text("owner")?.or(read.text("owner_id")?);
        let has = |key: &&str| members.contains_key(*key) || *key == "owner" && owner.is_some();
        let missing: Vec<&str> = USUAL.into_iter().filter(|key| !has(key)).collect();
        if !missing.is_empty() {
            notes.push(format!("has no {}; a Genesis has all of {}", missing.join(", "), USUAL.join(", ")));
        }
        let trust = read.trust(owner.is_some(), &mut notes)?;
        let name = read.text("name")?.or(read.text("org_label")?);
        let hosted = Self {
            name: name.unwrap_or_else(|| agent_id.chars().take(12).collect()),
            owner,
            principal: read.text("principal")?,
            principal_id: read.text("principal_id")?,
            description: read.text("description")?,
            archetype: read.text("archetype")?,
            governance_zone: read.text("governance_zone")?,
            scope: read.scope()?,
            issued_at: read.text("issued_at")?,
            issuer: read.text("issuer")?,
            tier: trust.tier,
            path: trust.path,
            warning: trust.warning,
            form,
            document,
            agent_id,
        };
        Ok((hosted, notes))
    }

    /// Its entry in `DISCOVER /agents` (AGTP-API §5.8.2), without `skills_summary` and `methods_count`, which the
    /// Genesis does not contain.
    pub fn listing(&self) -> Value {
        let mut entry = json!({
            "agent_id": self.agent_id, "name": self.name,
            "trust_tier": self.tier, "verification_path": self.path,
        });
        for (key, value) in [("trust_warning", self.warning), ("owner_id", self.owner.as_deref())] {
            if let Some(value) = value {
                entry[key] = value.into();
            }
        }
        entry
    }
}

fn parse(file: &[u8]) -> Result<Map<String, Value>, String> {
    if file.len() > LONGEST {
        return Err(format!("is no Genesis: it has {} bytes, and at most {LONGEST} are read", file.len()));
    }
    serde_json::from_slice::<IgnoredAny>(file).map_err(|error| format!("is no Genesis: it is not JSON ({error})"))?;
    match strict::value(file).map_err(|why| format!("is no Genesis: {why}"))? {
        Value::Object(members) if members.values().all(is_exact) => Ok(members),
        Value::Object(_) => Err("holds a number that canonical JSON would round; a Genesis has it as text".to_owned()),
        _ => Err("is no Genesis: it has to be one JSON object".to_owned()),
    }
}

/// Rejects values that different documents could serialise alike.
fn is_exact(value: &Value) -> bool {
    const EXACT: u64 = 1 << 53;
    match value {
        Value::Number(number) => {
            let whole = number.as_u64().or(number.as_i64().map(i64::unsigned_abs));
            whole.is_none_or(|whole| whole <= EXACT)
        }
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
        _ => true,
    }
}

/// The first form that the signature covers.
fn verify(members: &Map<String, Value>, signature: &[u8], key: &[u8]) -> Result<(Write, &'static str), String> {
    let found = FORMS.into_iter().find(|(write, with_id, _)| {
        let form = write(&without(members, !with_id));
        is_signed(&form, signature, key)
    });
    found.map(|(write, _, form)| (write, form)).ok_or_else(|| {
        "has a signature that does not verify under its issuer_public_key: it was changed after it was signed, or signed \
         by another key"
            .to_owned()
    })
}

fn without(members: &Map<String, Value>, agent_id: bool) -> Map<String, Value> {
    let mut members = members.clone();
    members.remove("signature");
    if agent_id {
        members.remove("agent_id");
    }
    members
}

/// The beginning of an untrusted text.
fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_default).collect()
}

/// What a relying party learns of its trust.
struct Trust {
    tier: u8,
    path: &'static str,
    warning: Option<&'static str>,
}

/// A Genesis while its members are read.
struct Read<'a>(&'a Map<String, Value>);

impl Read<'_> {
    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("has a member \"{key}\" that is no text")),
        }
    }

    fn signature(&self) -> Result<Vec<u8>, String> {
        let text = self.text("signature")?.ok_or("has no signature")?;
        let decoded = BASE64URL.decode(text).ok().filter(|bytes| bytes.len() == 64);
        decoded.ok_or_else(|| "has a signature that is not 64 bytes in base64url".to_owned())
    }

    fn key(&self) -> Result<Vec<u8>, String> {
        let text = self.text("issuer_public_key")?.ok_or("has no issuer_public_key to verify it with")?;
        let decoded = match pem_body(&text, "PUBLIC KEY") {
            Some(der) => der.strip_prefix(SPKI).map(<[u8]>::to_vec),
            None => BASE64URL.decode(text).ok(),
        };
        let wanted = "has an issuer_public_key that is neither 32 bytes in base64url nor an Ed25519 key in PEM";
        decoded.filter(|key| key.len() == 32).ok_or_else(|| wanted.to_owned())
    }

    fn scope(&self) -> Result<Vec<String>, String> {
        let wrong = || "has a scope that is no list of texts".to_owned();
        let Some(scope) = self.0.get("scope").filter(|scope| !scope.is_null()) else { return Ok(Vec::new()) };
        let items = scope.as_array().ok_or_else(wrong)?;
        items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
    }

    /// The claimed tier, reduced to what is verified: no anchor of tier 1 can be verified here.
    fn trust(&self, owned: bool, notes: &mut Vec<String>) -> Result<Trust, String> {
        let claimed = match self.0.get("trust_tier") {
            None | Some(Value::Null) => 2,
            Some(tier) => tier
                .as_u64()
                .filter(|tier| (1..=3).contains(tier))
                .ok_or_else(|| "has a trust_tier that is not 1, 2 or 3".to_owned())?,
        };
        let path = self.text("verification_path")?;
        let path = path.as_deref().unwrap_or(ORG_ASSERTED);
        let known = path == ORG_ASSERTED || ANCHORED.contains(&path);
        if claimed == 1 || path != ORG_ASSERTED {
            notes.push(format!(
                "claims a trust tier of {claimed} by \"{}\", which cannot be verified here; it is shown as {ORG_ASSERTED}",
                shown(path)
            ));
        }
        let tier = if claimed == 3 || !owned { 3 } else { 2 };
        let warning = match (known, tier) {
            (false, _) => Some(UNSUPPORTED),
            (true, 2) => Some(INCOMPLETE),
            _ => None,
        };
        Ok(Trust { tier, path: ORG_ASSERTED, warning })
    }
}

/// A Genesis for the tests of its readers.
#[cfg(any(test, feature = "testing"))]
pub mod testing {
    /// That of the agent of the vectors.
    pub const GENESIS: &str = r#"{"archetype":"assistant","governance_zone":"zone:test","issued_at":"2026-06-01T00:00:00Z","issuer_public_key":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg","owner":"owner:example.test","scope":["documents:query"],"signature":"Ua1nMh-R2PyL1yW4-NTCkP6llcHfgh5V7XTJS9vLb7QV4F3thBKc3AfPhi6ZWgpSWHb56QJuFQtHYzB9ahxNAA","trust_tier":2,"verification_path":"org-asserted"}"#;
}
#[cfg(test)]
mod tests;
