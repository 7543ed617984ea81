//! Builds the typed settings of callers, limits and the store.

use super::{
    raw::{Files, Item},
    settings::*,
    units,
    view::View,
};

pub(super) fn store(view: View) -> Store {
    let url = view.text_or("url", "memory:");
    let home = match url.split_once(':') {
        Some(("file", path)) => StoreHome::File(path.into()),
        Some(("memory", _)) | None => StoreHome::Memory,
        Some(_) => StoreHome::Redis(url),
    };
    Store {
        home,
        tls: StoreTls {
            ca: view.file("ca"),
            client_cert: view.file("client_cert"),
            client_key: view.file("client_key"),
        },
        on_error: match view.text("on_error").as_deref() {
            Some("allow") => OnError::Allow,
            Some("deny") => OnError::Deny,
            _ => OnError::Local,
        },
        patience: view.duration("patience", "250ms"),
        wait_replicas: view.get("wait_replicas").is_some().then(|| view.count("wait_replicas", 0)),
        prefix: view.text_or("prefix", "frontdesk"),
        max_keys: view.count("max_keys", 1_000_000),
        max_records: view.size("max_records", "64MB"),
    }
}

pub(super) fn auth(view: View, files: &Files, origin: Option<&str>) -> Auth {
    let login = view.get("login").map(|item| login(View { item: Some(item), ..view }, origin));
    Auth {
        kind: match view.text("type").as_deref() {
            Some("bearer") => AuthKind::Bearer,
            Some("api_key") => AuthKind::ApiKey,
            Some("oauth2") => AuthKind::Oauth2,
            Some(_) => AuthKind::None,
            // The default follows from what can be verified. An API key is accepted as a bearer token too.
            None if view.get("jwks").is_some() => AuthKind::Bearer,
            None if view.tables("api_keys").next().is_some() => AuthKind::ApiKey,
            None if login.is_some() => AuthKind::Oauth2,
            None => AuthKind::None,
        },
        issuer: view.text("issuer"),
        audience: view.text("audience"),
        jwks: view.text("jwks").map(|jwks| match view.file("jwks").and_then(|file| files.get(&file)) {
            Some(bytes) => Jwks::Text(String::from_utf8_lossy(bytes).into_owned()),
            None => Jwks::Url(jwks),
        }),
        strong_acr: match view.get("strong_acr") {
            Some(_) => view.texts("strong_acr"),
            None => vec!["mfa".into()],
        },
        unverified: match view.text("unverified").as_deref() {
            Some("site") => Unverified::Site,
            _ => Unverified::Refuse,
        },
        forward: match view.get("forward") {
            Some(_) => view.texts("forward"),
            None => vec!["Authorization".into()],
        },
        authorization_url: view.text("authorization_url"),
        available_scopes: view.texts("available_scopes"),
        authorization_servers: {
            let own = login.as_ref().map(|login| login.issuer.clone());
            own.into_iter().chain(view.texts("authorization_servers")).collect()
        },
        registration_url: view.text("registration_url").filter(|url| !url.is_empty()),
        api_keys: view.tables("api_keys").filter_map(api_key).collect(),
        signed_agents: signed_agents(View { item: view.get("signed_agents"), ..view }),
        visitor: visitor(View { item: view.get("visitor"), ..view }),
        introspection: token_endpoint(View { item: view.get("introspection"), ..view }),
        exchange: {
            let view = View { item: view.get("exchange"), ..view };
            token_endpoint(view).zip(view.text("audience"))
        }
        .map(|(endpoint, audience)| ExchangeSettings { endpoint, audience }),
        login,
    }
}

fn token_endpoint(view: View) -> Option<TokenEndpoint> {
    Some(TokenEndpoint {
        url: view.text("url")?,
        client_id: view.text("client_id")?,
        client_secret: view.text("client_secret")?,
    })
}

fn visitor(view: View) -> Option<Visitor> {
    Some(Visitor {
        check: view.text("check")?,
        subject: view.text("subject")?,
        name: view.text("name"),
        sign_in: view.text("sign_in")?,
        return_to: view.text("return_to"),
    })
}

fn login(view: View, origin: Option<&str>) -> Login {
    let client = |view: View| {
        let redirect_uris = view.texts("redirect_uris");
        Some(ListedClient { id: view.text("id")?, name: view.text("name")?, redirect_uris })
    };
    Login {
        cookies: view.texts("cookies"),
        access_ttl: view.duration("access_ttl", "1h"),
        link_ttl: view.duration("link_ttl", "30d"),
        clients: match view.text("clients").as_deref() {
            Some("dynamic") => Clients::Dynamic,
            Some("listed") => Clients::Listed,
            _ => Clients::Metadata,
        },
        listed: view.tables("clients_listed").filter_map(client).collect(),
        issuer: origin.unwrap_or_default().trim_end_matches('/').to_owned(),
    }
}

fn api_key(view: View) -> Option<ApiKey> {
    Some(ApiKey {
        name: view.text("name")?,
        sha256: digest(&view.text("sha256")?)?,
        scopes: view.texts("scopes"),
        rate_limit: view.text("rate_limit").and_then(|text| units::rate(&text).ok()),
    })
}

fn signed_agents(view: View) -> SignedAgents {
    let keys = view.tables("keys").filter_map(|view| {
        let agent = view.text("agent")?;
        // A private key was refused before.
        let public = |jwk: &&Item| jwk.get("d").is_none() && jwk.get("k").is_none();
        let jwk = view.get("jwk").filter(public).map(Item::json);
        let directory = view.text("directory").or_else(|| {
            // The path at which Web Bot Auth agents publish their keys.
            let well_known = format!("{}/.well-known/http-message-signatures-directory", agent.trim_end_matches('/'));
            jwk.is_none().then_some(well_known)
        });
        Some(AgentKey { agent, jwk, directory })
    });
    SignedAgents { require: view.flag("require", false), keys: keys.collect() }
}

pub(super) fn rate_limits(view: View) -> RateLimits {
    let optional = |key| view.text(key).and_then(|text| units::rate(&text).ok());
    let rate = |key, count| optional(key).unwrap_or(Rate { count, span: Span::Minute });
    RateLimits {
        anonymous: rate("anonymous", 30),
        authenticated: rate("authenticated", 120),
        actions: rate("actions", 30),
        content: rate("content", 120),
        per_agent: optional("per_agent"),
        site: optional("site"),
    }
}

pub(super) fn sessions(view: View) -> Sessions {
    Sessions {
        max_turns: u32::try_from(view.number("max_turns", 10)).unwrap_or(u32::MAX),
        idle: view.duration("idle", "10m"),
        max_body: view.size("max_body", "8KB"),
        results: view.duration("results", "1h"),
        allow_http_callbacks: view.flag("allow_http_callbacks", false),
    }
}

pub(super) fn token_budget(view: View) -> TokenBudget {
    let budget = |key, count, span| {
        let written = view.text(key).and_then(|text| units::budget(&text).ok());
        written.unwrap_or(Budget { count, span })
    };
    TokenBudget {
        anonymous: budget("anonymous", 5_000, Span::Session),
        authenticated: budget("authenticated", 20_000, Span::Session),
        daily: budget("daily", 100_000, Span::Day),
        max_response: view.number("max_response", 2000),
    }
}

/// 64 hex digits as bytes.
pub(super) fn digest(hex: &str) -> Option<[u8; 32]> {
    let digits: Option<Vec<u8>> = hex.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let bytes: Vec<u8> = digits?.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect();
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agents_present_is_what_can_be_verified() {
        let kind = |lines: &str| {
            let text = format!("[upstream]\nurl = 'http://127.0.0.1:1'\n[auth]\n{lines}");
            let path = std::path::Path::new("/x.toml");
            crate::declare_text(path, &text, &crate::Nowhere, &[]).unwrap().settings.auth.kind
        };
        let key = format!("[[auth.api_keys]]\nname = 'a'\nsha256 = '{}'\n", "0f".repeat(32));
        let tokens = "jwks = 'https://a.test/jwks'\n";
        assert_eq!(kind(""), AuthKind::None);
        assert_eq!(kind(&key), AuthKind::ApiKey);
        assert_eq!([kind(tokens), kind(&format!("{tokens}{key}"))], [AuthKind::Bearer; 2]);
        assert_eq!(kind(&format!("type = 'oauth2'\n{tokens}")), AuthKind::Oauth2);
        assert_eq!(kind(&format!("type = 'none'\n{key}")), AuthKind::None);
    }

    #[test]
    fn digests() {
        assert_eq!(digest(&"0f".repeat(32)), Some([15; 32]));
        assert_eq!(digest("0f"), None);
    }
}
