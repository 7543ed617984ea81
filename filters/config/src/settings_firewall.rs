//! The typed settings of the firewall.

use frontdesk_firewall::{Firewall, Modes, Pattern};

/// `[firewall]`: what to search for in everything that leaves for an agent, and what is never served.
#[derive(Debug, Clone)]
pub struct FirewallSettings {
    /// Answer 404 for files that a repository keeps for its own agents.
    pub hide: bool,
    pub modes: Modes,
    /// Exact values that are no personal data: `firewall.allow` and `site.contact`.
    pub exempt: Vec<String>,
    /// The patterns in the file that `firewall.patterns` names.
    pub patterns: Vec<Pattern>,
}

impl FirewallSettings {
    /// The firewall with these settings.
    pub fn compiled(&self) -> Firewall {
        Firewall::new(self.modes, self.exempt.iter().cloned(), self.patterns.clone())
    }
}
