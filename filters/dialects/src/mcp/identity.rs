//! What the MCP server says of itself: in `initialize`, in `server/discover`, and in its server card (SEP-2127). One
//! source for all of them, so that they agree.

use frontdesk_base::text::fitted;
use frontdesk_config::Settings;
use frontdesk_discovery::reversed_host;
use serde_json::{Map, Value, json};

use super::{
    super::ahp,
    protocol::{HANDSHAKES, STATELESS},
};

/// The published schema of a card.
const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
/// Maximum characters of a card's title and description.
const SHORT: usize = 100;

/// The server's name, version and description.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    /// For people.
    name: String,
    version: &'static str,
    /// The site's origin, where it is declared.
    origin: Option<String>,
    description: Option<String>,
    /// The path of the AHP manifest.
    manifest: String,
    /// The path of the endpoint.
    path: String,
    /// The credential's header, and whether every caller needs one; `None` where the site takes none.
    credential: Option<bool>,
}

impl Identity {
    pub(super) fn new(settings: &Settings, path: &str, manifest: &str) -> Self {
        let takes = !settings.auth.api_keys.is_empty() || settings.verifies_tokens();
        Self {
            name: settings.site.name.clone().unwrap_or_else(|| "This site".to_owned()),
            version: ahp::VERSION,
            origin: settings.site.origin.clone(),
            description: settings.site.description.clone(),
            manifest: manifest.to_owned(),
            path: path.to_owned(),
            credential: takes.then_some(!settings.policies.anonymous_access),
        }
    }

    /// `serverInfo` (AHP §D.6).
    pub(super) fn server_info(&self) -> Value {
        let mut info = json!({
            "name": self.name, "title": self.name, "version": self.version, "ahp": self.version,
            "manifest": self.manifest,
        });
        if let Some(origin) = &self.origin {
            info["websiteUrl"] = origin.clone().into();
        }
        info
    }

    /// `instructions`.
    pub(super) fn instructions(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The server card at this origin.
    pub(super) fn card(&self, origin: &str) -> Value {
        let Self { name, version, description, path, credential, .. } = self;
        let mut card = Map::new();
        card.insert("$schema".into(), SCHEMA.into());
        card.insert("name".into(), format!("{}/site", reversed_host(origin)).into());
        card.insert("version".into(), (*version).into());
        let usual = || format!("Answers questions from the pages of {name}, and calls what it offers.");
        card.insert("description".into(), fitted(&description.clone().unwrap_or_else(usual), SHORT).into());
        card.insert("title".into(), fitted(name, SHORT).into());
        if !origin.is_empty() {
            card.insert("websiteUrl".into(), origin.into());
        }
        let mut remote = json!({
            "type": "streamable-http",
            "url": format!("{origin}{path}"),
            "supportedProtocolVersions": HANDSHAKES.iter().chain([&STATELESS]).collect::<Vec<_>>(),
        });
        if let Some(required) = credential {
            remote["headers"] = json!([{
                "name": "Authorization",
                "description": "Bearer, and the key or token",
                "isRequired": required,
                "isSecret": true,
            }]);
        }
        card.insert("remotes".into(), json!([remote]));
        card.into()
    }
}

#[cfg(test)]
mod tests {
    use frontdesk_config::testing::{Nowhere, declare_text};

    use super::*;

    fn identity(more: &str) -> Identity {
        let text = format!("[upstream]\nurl = 'http://127.0.0.1:9'\n{more}");
        let settings = declare_text(std::path::Path::new("/x.toml"), &text, &Nowhere).unwrap().settings;
        Identity::new(&settings, "/mcp", "/.well-known/agent.json")
    }

    #[test]
    fn the_card_agrees_with_what_initialize_says() {
        let identity = identity("[site]\nname = 'Acme'\ndescription = 'Anvils.'\n");
        let (info, card) = (identity.server_info(), identity.card("https://www.acme.test"));
        assert_eq!((&card["title"], &card["version"]), (&info["name"], &info["version"]));
        assert_eq!(
            (card["name"].as_str(), card["description"].as_str()),
            (Some("test.acme.www/site"), Some("Anvils."))
        );
        let remote = &card["remotes"][0];
        assert_eq!(remote["url"], "https://www.acme.test/mcp");
        assert_eq!(remote["supportedProtocolVersions"].as_array().unwrap().len(), HANDSHAKES.len() + 1);
        assert!(remote.get("headers").is_none(), "nobody needs a credential: {card}");
    }

    #[test]
    fn the_card_names_the_credential_where_there_is_one() {
        let keys = "[[auth.api_keys]]\nname = 'a'\nsha256 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'\n";
        let header =
            |more: &str| identity(&format!("{more}{keys}")).card("http://a.test")["remotes"][0]["headers"][0].clone();
        assert_eq!((&header("")["name"], &header("")["isRequired"]), (&json!("Authorization"), &json!(false)));
        assert_eq!(header("[policies]\nanonymous_access = false\n")["isRequired"], true);
    }

    #[test]
    fn a_card_is_short() {
        let long = "x".repeat(400);
        let card = identity(&format!("[site]\ndescription = '{long}'\n")).card("http://a.test");
        assert_eq!(card["description"].as_str().unwrap().chars().count(), SHORT);
    }
}
