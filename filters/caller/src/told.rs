//! The identity headers: what the site learns about a caller, in headers that no client can set
//! (docs/decisions/0012-credentials-stop-here.md).

use std::fmt::Write;

use http::{HeaderName, HeaderValue};

use super::Caller;

const CALLER: HeaderName = HeaderName::from_static("x-frontdesk-caller");
const AGENT: HeaderName = HeaderName::from_static("x-frontdesk-agent");
const VERIFIED: HeaderName = HeaderName::from_static("x-frontdesk-verified");

impl Caller {
    /// The identity headers for the upstream: how the caller was verified, and its names. An agent name that is only
    /// claimed is followed by `; claimed`.
    pub fn told(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let name = self.name.as_deref().and_then(|name| HeaderValue::try_from(visible(name)).ok());
        let agent = self.agent.as_ref().and_then(|agent| {
            let label = if agent.verified { "" } else { "; claimed" };
            HeaderValue::try_from(visible(&agent.name) + label).ok()
        });
        let verified = Some(HeaderValue::from_static(self.proof.word()));
        [(VERIFIED, verified), (CALLER, name), (AGENT, agent)].into_iter().filter_map(|(n, v)| Some((n, v?)))
    }
}

/// A name in a form that a header can hold: percent-encodes all but visible ASCII, and the characters with which a
/// claim could pose as something else.
fn visible(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 16);
    let last = name.len().saturating_sub(1);
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            // Spaces at either end would be lost.
            b' ' if at == 0 || at == last => out.push_str("%20"),
            b'%' | b';' | b',' => drop(write!(out, "%{byte:02X}")),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;

    #[test]
    fn a_claim_cannot_pass_for_something_that_is_verified() {
        let mut caller = Caller::at("192.0.2.1".parse().unwrap());
        let told = |caller: &Caller| -> Vec<String> {
            caller.told().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
        };
        assert_eq!(told(&caller), ["x-frontdesk-verified: none"]);
        caller.agent = Agent::claimed("Ex/1.0; verified");
        assert_eq!(told(&caller)[1], "x-frontdesk-agent: Ex/1.0%3B verified; claimed");
        caller.name = Some("jürgen".into());
        assert_eq!(told(&caller)[1], "x-frontdesk-caller: j%C3%BCrgen");
        caller.name = Some(" a b ".into());
        assert_eq!(told(&caller)[1], "x-frontdesk-caller: %20a b%20");
    }
}
