//! What robots.txt says besides the site's own rules. The file itself is edited by `frontdesk_page::robots`.

use frontdesk_config::Settings;
use frontdesk_page::{robots::Added, signals::Signals};

/// What is added under one configuration.
#[derive(Debug, Clone)]
pub struct Robots {
    signals: Option<Signals>,
    names_agents: bool,
    /// The path of the sitemap.
    sitemap: Option<String>,
}

impl Robots {
    /// `None`: nothing is added. `sitemap`: its path, ours or the site's.
    pub fn new(settings: &Settings, sitemap: Option<String>) -> Option<Self> {
        let names_agents = settings.discovery.robots;
        let signals = if names_agents { settings.signals.of_robots() } else { settings.signals.published() };
        let sitemap = sitemap.filter(|_| names_agents);
        (signals.is_some() || names_agents).then_some(Self { signals, names_agents, sitemap })
    }

    /// The address of the sitemap. robots.txt has to name it as a whole, so an unknown origin means that it does not.
    pub fn sitemap(&self, origin: &str) -> Option<String> {
        self.sitemap.as_ref().filter(|_| !origin.is_empty()).map(|path| format!("{origin}{path}"))
    }

    /// The lines that are added.
    pub fn added<'a>(&'a self, sitemap: Option<&'a str>) -> Added<'a> {
        Added { signals: self.signals.as_ref(), names_agents: self.names_agents, sitemap }
    }
}
