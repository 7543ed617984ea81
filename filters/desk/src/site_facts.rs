//! The declared facts about the site, from which questions in words are answered besides its pages.

use frontdesk_ask::{Library, SiteFacts};
use frontdesk_config::Settings;

/// The facts that the declaration gives about the site.
pub fn site_facts(settings: &Settings) -> SiteFacts {
    let site = &settings.site;
    let offered = settings.offered().filter(|(_, capability)| capability.built_in.is_none());
    SiteFacts {
        name: site.name.clone(),
        description: site.description.clone(),
        origin: site.origin.clone(),
        operator: site.operator.clone(),
        contact: site.contact.clone(),
        capabilities: offered.map(|(_, c)| (c.id.clone(), c.description.clone().unwrap_or_default())).collect(),
    }
}

/// The library before any page is read; stays empty where questions are not answered from pages.
pub fn unread_library(settings: &Settings) -> Library {
    if settings.content.concierge { Library::unread(&site_facts(settings)) } else { Library::empty() }
}
