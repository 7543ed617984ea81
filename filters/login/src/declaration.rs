//! What `check` says about `[auth.login]`.

use frontdesk_config::{Clients, Declared, Extension, Findings, Item};
use url::Url;

use crate::{authorization_request::in_their_name, metadata};

/// The configuration checks about the site's own sign-in.
pub static EXTENSION: Extension = Extension { keys: &[], documents: &[metadata::PATH], check };

fn check(declared: &Declared<'_>, found: &mut Findings) {
    let (root, settings) = (declared.root, declared.settings);
    let (Some(item), Some(login)) = (root.at(&["auth", "login"]), &settings.auth.login) else { return };
    let line = |key: &str| item.get(key).map_or(item.line, |item| item.line);
    match &settings.auth.visitor {
        None => {
            let what = "needs [auth.visitor], which says how the site knows who is signed in";
            found.mistake(item.line, "auth.login", what);
        }
        Some(visitor) if visitor.return_to.is_none() => {
            let what = "without auth.visitor.return_to people do not come back after they have signed in";
            found.warning(item.line, "auth.login", what).hint("name the site's parameter for the way back");
        }
        Some(_) => {}
    }
    origin(root, item, found);
    if login.cookies.is_empty() {
        let what = "names no cookie: a call would carry nothing";
        found.mistake(line("cookies"), "auth.login.cookies", what);
    }
    if login.access_ttl > login.link_ttl {
        let what = "is longer than auth.login.link_ttl, which ends it";
        found.mistake(line("access_ttl"), "auth.login.access_ttl", what);
    }
    if login.clients == Clients::Listed && login.listed.is_empty() {
        let what = "only listed clients are taken, and none is listed";
        found.mistake(line("clients"), "auth.login.clients", what).hint("write [[auth.login.clients_listed]]");
    }
    for (index, client) in login.listed.iter().enumerate() {
        let key = format!("auth.login.clients_listed[{index}].redirect_uris");
        if client.redirect_uris.is_empty() {
            found.mistake(line("clients_listed"), key, "names no address to answer at");
        } else if login.listed[..index].iter().any(|other| other.id == client.id) {
            let key = format!("auth.login.clients_listed[{index}].id");
            found.mistake(line("clients_listed"), key, "is the id of another client too");
        }
    }
    if in_their_name(settings).next().is_none() {
        let what = "no capability is called in a person's name, so there is nothing to allow";
        found.warning(item.line, "auth.login", what).hint("write upstream.identity = \"caller\" in a capability");
    }
    let keeps = root.at(&["store", "url"]).and_then(Item::str).is_some_and(|url| url != "memory:");
    if !keeps {
        let what = "\"memory:\" forgets at a restart which agents a person has allowed";
        found.warning(item.line, "auth.login", what).hint("write store.url = \"file:/var/lib/frontdesk\"");
    }
}

/// The origin is the issuer, and people type passwords behind it.
fn origin(root: &Item, login: &Item, found: &mut Findings) {
    let Some(item) = root.at(&["site", "origin"]) else {
        found.mistake(login.line, "auth.login", "needs site.origin, which is its issuer");
        return;
    };
    let url = item.str().and_then(|text| Url::parse(text).ok());
    let is_here = |url: &Url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if url.is_some_and(|url| url.scheme() != "https" && !is_here(&url)) {
        let what = "has to be https with [auth.login]: tokens and cookies would be read on the way";
        found.mistake(item.line, "site.origin", what);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use frontdesk_config::{declare_text, testing::Nowhere};

    use super::*;

    static EXTENSIONS: &[&Extension] = &[&EXTENSION];

    /// What is found in a declaration with these lines.
    fn findings(origin: &str, visitor: &str, login: &str) -> String {
        let text = format!(
            "[upstream]\nurl = 'http://127.0.0.1:9'\n[store]\nurl = 'file:/tmp/x'\n[site]\n{origin}\n{visitor}\n[auth.login]\n{login}\n\
             [[capabilities]]\nid = 'orders'\ntype = 'query'\ndescription = 'Orders.'\nmethod = 'POST'\nendpoint = '/agent/orders'\n\
             upstream = {{ method = 'GET', path = '/orders', identity = 'caller' }}\n"
        );
        match declare_text(Path::new("/x.toml"), &text, &Nowhere, EXTENSIONS) {
            Ok(declaration) => declaration.warnings.iter().map(|w| format!("{w:?}\n")).collect(),
            Err(refused) => refused.to_string(),
        }
    }

    #[test]
    fn what_cannot_work_is_a_mistake() {
        const ORIGIN: &str = "origin = 'https://site.test'";
        const VISITOR: &str = "[auth.visitor]\ncheck = '/me'\nsubject = '/id'\nsign_in = '/login'\nreturn_to = 'next'";
        let fine = findings(ORIGIN, VISITOR, "cookies = ['sid']");
        assert!(!fine.contains("auth.login"), "{fine}");
        for (origin, visitor, login, wanted) in [
            (ORIGIN, "", "cookies = ['sid']", "needs [auth.visitor]"),
            ("", VISITOR, "cookies = ['sid']", "needs site.origin"),
            ("origin = 'http://site.test'", VISITOR, "cookies = ['sid']", "has to be https"),
            (ORIGIN, VISITOR, "cookies = []", "names no cookie"),
            (ORIGIN, VISITOR, "", "cookies"),
            (ORIGIN, VISITOR, "cookies = ['a b']", "is no name of a cookie"),
            (ORIGIN, VISITOR, "cookies = ['sid']\naccess_ttl = '2d'\nlink_ttl = '1d'", "is longer than"),
            (ORIGIN, VISITOR, "cookies = ['sid']\nclients = 'listed'", "none is listed"),
            (
                ORIGIN,
                VISITOR,
                "cookies = ['sid']\n[[auth.login.clients_listed]]\nid = 'a'\nname = 'A'\nredirect_uris = ['http://a.test/cb']",
                "has to be https",
            ),
            (ORIGIN, &VISITOR.replace("return_to = 'next'", ""), "cookies = ['sid']", "do not come back"),
        ] {
            let found = findings(origin, visitor, login);
            assert!(found.contains(wanted), "{wanted}: {found}");
        }
        assert!(!findings("origin = 'http://127.0.0.1:8080'", VISITOR, "cookies = ['sid']").contains("https"));
    }
}
