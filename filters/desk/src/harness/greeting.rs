//! The handshake with a harness: what Frontdesk says of itself, and what the harness replies.

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};

use super::{
    kinds::{KINDS, Kind},
    wire,
};

/// The time limit where the harness gives none, and the maximum of what it may ask for.
const USUAL: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(60);
/// The minimum time limit, whatever the harness advertises.
const SHORTEST: Duration = Duration::from_millis(10);

/// The identity that Frontdesk sends.
#[derive(Debug, Clone, Copy)]
pub struct Hello<'a> {
    /// Id of this process.
    pub session_id: &'a str,
    /// Id of this instance.
    pub agent_id: &'a str,
}

impl Hello<'_> {
    pub(super) fn params(&self) -> Value {
        let capabilities: Vec<_> = KINDS
            .iter()
            // Frontdesk never sends these: it neither idles nor reasons.
            .filter(|(kind, ..)| !matches!(kind, Kind::Idle | Kind::Reasoning))
            .map(|(_, name, _)| *name)
            .collect();
        json!({
            "protocol_version": wire::VERSION,
            "agent_info": {
                "framework": "frontdesk",
                "version": env!("CARGO_PKG_VERSION"),
                "capabilities": capabilities,
            },
            "session_id": self.session_id,
            "agent_id": self.agent_id,
        })
    }
}

/// The harness's reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeted {
    pub name: String,
    pub version: String,
    pub capabilities: HashSet<String>,
    /// The smaller of its time limit and ours.
    pub timeout: Duration,
    /// The harness's own time limit, or the protocol's default.
    pub own_timeout: Duration,
    pub batch_size: usize,
    pub max_depth: u32,
}

impl Greeted {
    pub(super) fn read(result: &Value, ours: Duration) -> Result<Self, String> {
        let version = result["protocol_version"].as_str().ok_or("its greeting has no `protocol_version`")?;
        if major(version) != major(wire::VERSION) {
            let version: String = version.chars().filter(|c| !c.is_control()).take(20).collect();
            return Err(format!("it speaks version {version}, but Frontdesk speaks {}", wire::VERSION));
        }
        let info = &result["harness_info"];
        let capabilities = info["capabilities"].as_array().ok_or("its greeting has no `harness_info.capabilities`")?;
        let text = |name: &str| info[name].as_str().unwrap_or_default().chars().take(100).collect();
        let config = |name: &str| result["config"][name].as_u64();
        let theirs = config("timeout_ms").map(Duration::from_millis).unwrap_or(ours);
        Ok(Self {
            name: text("name"),
            version: text("version"),
            capabilities: capabilities.iter().filter_map(Value::as_str).take(100).map(str::to_owned).collect(),
            timeout: theirs.min(ours).max(SHORTEST),
            own_timeout: config("timeout_ms").map_or(USUAL, Duration::from_millis).clamp(SHORTEST, LONGEST),
            batch_size: config("batch_size").and_then(|size| size.try_into().ok()).unwrap_or(100),
            max_depth: config("max_depth").and_then(|depth| depth.try_into().ok()).unwrap_or(10),
        })
    }
}

/// The major version, which has to match.
pub fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_tells_limits_and_the_smaller_time_holds() {
        let result = |version: &str, config: Value| json!({"protocol_version": version, "harness_info": {"name": "h", "version": "1", "capabilities": ["pre_action", 3]}, "config": config});
        let ours = Duration::from_millis(500);
        let greeted = Greeted::read(&result("2.0", json!({"timeout_ms": 200, "max_depth": 2})), ours).unwrap();
        assert_eq!((greeted.timeout, greeted.max_depth, greeted.batch_size), (Duration::from_millis(200), 2, 100));
        assert!(greeted.capabilities.contains("pre_action"));
        assert_eq!(Greeted::read(&result("2.9", json!({"timeout_ms": 9000})), ours).unwrap().timeout, ours);
        assert_eq!(Greeted::read(&result("2.9", json!({"timeout_ms": 0})), ours).unwrap().timeout, SHORTEST);
        assert!(Greeted::read(&result("3.0", json!(null)), ours).unwrap_err().contains("version 3.0"));
        assert!(Greeted::read(&json!({"protocol_version": "2.4"}), ours).is_err());
        assert!(Greeted::read(&json!({}), ours).is_err());
    }
}
