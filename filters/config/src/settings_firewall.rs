//! `[firewall]`, typed.

use frontdesk_firewall::{Firewall, Modes, Pattern};

/// `[firewall]`: what is looked for in what leaves for an agent, and what is never served.
#[derive(Debug, Clone)]
pub struct FirewallSettings {
    /// Files that a repository keeps for its agents are answered 404.
    pub hide: bool,
    pub modes: Modes,
    /// Exact values that are about nobody in particular: `firewall.allow` and `site.contact`.
    pub exempt: Vec<String>,
    /// Of the file that `firewall.patterns` names.
    pub patterns: Vec<Pattern>,
}

impl FirewallSettings {
    /// What looks through every answer.
    pub fn compiled(&self) -> Firewall {
        Firewall::new(self.modes, self.exempt.iter().cloned(), self.patterns.clone())
    }
}
