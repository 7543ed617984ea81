//! Checks the server's and the hosted agent's identity: it must be expressible and verifiable.

use frontdesk_config::{Findings, Item, Settings, StoreHome};

use super::super::genesis::Hosted;

/// Maximum bytes of a name.
const LONGEST: usize = 128;

/// Checks `agtp.agent` and `agtp.server_id`.
pub(super) fn rules(root: &Item, settings: &Settings, found: &mut Findings) {
    if let Some((item, name)) = root.at(&["agtp", "server_id"]).and_then(|item| Some((item, item.str()?)))
        && !(name.len() <= LONGEST && name.bytes().all(|byte| byte.is_ascii_graphic()))
    {
        let what = format!("{} cannot stand in a header", item.shown());
        found
            .mistake(item.line, "agtp.server_id", what)
            .hint("write 1 to 128 visible ASCII characters, such as a host");
    }
    let agent = root.at(&["agtp", "agent"]);
    let (Some(item), Some(file)) = (agent, settings.agtp.agent.as_deref()) else { return };
    match Hosted::read(file) {
        Err(why) => found.mistake(item.line, "agtp.agent", why).hint("name the Genesis as its issuer signed it"),
        Ok((_, notes)) => {
            for note in notes {
                found.warning(item.line, "agtp.agent", note);
            }
            if settings.integrity.is_none() {
                let what = "has records without a signature";
                found.warning(item.line, "agtp.agent", what).hint("give [integrity] a key");
            }
            if settings.store.home == StoreHome::Memory {
                let what = "is active again after a restart, even if it was suspended or retired";
                found.warning(item.line, "agtp.agent", what).hint("give [store] a file: or a redis: url");
            }
        }
    }
}
