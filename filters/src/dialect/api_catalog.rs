//! /.well-known/api-catalog (RFC 9727): one list of all APIs and their descriptions, for clients that know none of the
//! protocols.

use serde_json::{Map, Value, json};

#[cfg(feature = "agtp")]
use super::agtp;
use super::{Announcement, Document, Occupied, Variant, a2a, ahp, cache_control, mcp, openapi};
use crate::{content::llms, site::Declaration};

/// Where it is.
pub(crate) use frontdesk_discovery::API_CATALOG as PATH;
/// A set of links (RFC 9264), of the one kind that RFC 9727 §4 has.
const MEDIA_TYPE: &str = "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";

/// An API, with the relation and address of each of its descriptions.
struct Api<'a> {
    at: &'a str,
    described: Vec<(&'static str, &'a str, &'static str)>,
}

/// The list, unless the site has one of its own.
pub(crate) fn document(
    declaration: &Declaration,
    occupied: &Occupied,
    announcements: &[Announcement],
) -> Option<Document> {
    if occupied.contains(PATH) {
        return None;
    }
    let body = render(declaration, occupied, announcements).to_string();
    let variant = Variant::new(MEDIA_TYPE, body, &cache_control(declaration));
    Some(Document { path: PATH.into(), variants: vec![variant], negotiate: None, versions: Vec::new() })
}

fn render(declaration: &Declaration, occupied: &Occupied, announcements: &[Announcement]) -> Value {
    let settings = &declaration.settings;
    let origin = settings.site.origin.as_deref().unwrap_or_default().trim_end_matches('/');
    let url = |path: &str| format!("{origin}{path}");
    let apis = apis(declaration, occupied, announcements);
    let items: Vec<Value> = apis.iter().map(|api| json!({ "href": url(api.at) })).collect();
    let mut sets = vec![json!({ "anchor": url(PATH), "item": items })];
    sets.extend(apis.iter().map(|api| {
        let mut set = Map::from_iter([("anchor".to_owned(), Value::from(url(api.at)))]);
        for (relation, path, media_type) in &api.described {
            let link = json!({ "href": url(path), "type": media_type });
            if let Value::Array(links) = set.entry(*relation).or_insert_with(|| json!([])) {
                links.push(link);
            }
        }
        set.into()
    }));
    json!({ "linkset": sets })
}

fn apis<'a>(declaration: &'a Declaration, occupied: &Occupied, announcements: &'a [Announcement]) -> Vec<Api<'a>> {
    let settings = &declaration.settings;
    let paths = &settings.paths;
    let announced = |rel| announcements.iter().find(|announced: &&Announcement| announced.rel == rel);
    let described = |rel| announced(rel).map(|told| ("service-desc", told.path.as_str(), told.media_type));
    let mut apis = Vec::new();
    let mut api = |at, described: Vec<_>| apis.push(Api { at, described });
    if settings.offered().next().is_some() {
        api(ahp::converse_path(declaration, occupied), described("ahp-manifest").into_iter().collect());
    }
    if !settings.capabilities.is_empty() {
        let manual = llms::endpoint(settings, occupied).map(|path| ("service-doc", path, "text/plain"));
        api("/", described("agent-interface").into_iter().chain(manual).collect());
    }
    if let (Some(document), true) =
        (openapi::published::path(declaration, occupied), occupied.leaves(&paths.capabilities))
    {
        api(&paths.capabilities.path, vec![("service-desc", document, "application/json")]);
    }
    if let Some(at) = mcp::path(declaration, occupied) {
        api(
            at,
            described("ahp-manifest")
                .map(|(_, path, media_type)| ("service-meta", path, media_type))
                .into_iter()
                .collect(),
        );
    }
    if let (Some(at), true) = (a2a::path(declaration, occupied), settings.offered().next().is_some()) {
        let card = a2a::card_path(declaration, occupied);
        api(at, card.map(|path| ("service-desc", path, "application/json")).into_iter().collect());
    }
    #[cfg(feature = "agtp")]
    if settings.agtp.spoken && !occupied.contains(agtp::BOOTSTRAP) {
        api(agtp::BOOTSTRAP, Vec::new());
    }
    apis
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use http::{HeaderMap, Method};

    use super::*;
    use crate::{
        Learned, Snapshot,
        site::{declare_text, testing::Nowhere},
    };

    fn snapshot(more: &str, occupied: Occupied) -> Snapshot {
        let text = format!(
            "[upstream]\nurl = 'http://127.0.0.1:9'\n[site]\norigin = 'https://acme.test/'\n{more}\n[[capabilities]]\nid = \
             'things.search'\ntype = 'query'\ndescription = 'Search.'\nmethod = 'POST'\nendpoint = '/agent/x'\nrisk_level = \
             'low'\nauth = 'optional'\n[capabilities.upstream]\nmethod = 'GET'\npath = '/x'\n"
        );
        let declaration = declare_text(Path::new("/site.toml"), &text, &Nowhere).unwrap_or_else(|e| panic!("{e}"));
        Snapshot::compile(&declaration, &Learned { occupied, ..Learned::default() })
    }

    fn listed(snapshot: &Snapshot) -> Value {
        serde_json::from_slice(&snapshot.document(PATH).unwrap()).unwrap()
    }

    #[test]
    fn everything_that_can_be_called_is_listed_with_what_describes_it() {
        let snapshot = snapshot("", Occupied::default());
        let list = listed(&snapshot);
        let sets = list["linkset"].as_array().unwrap();
        assert_eq!(sets[0]["anchor"], "https://acme.test/.well-known/api-catalog");
        for item in sets[0]["item"].as_array().unwrap() {
            let set = sets[1..].iter().find(|set| set["anchor"] == item["href"]).unwrap();
            for links in set.as_object().unwrap().values().filter_map(Value::as_array) {
                for link in links {
                    let path = link["href"].as_str().unwrap().strip_prefix("https://acme.test").unwrap();
                    assert!(snapshot.document(path).is_some(), "{path} is there");
                }
            }
        }
        let anchors: Vec<_> = sets[1..].iter().filter_map(|set| set["anchor"].as_str()).collect();
        let expected =
            ["/agent/converse", "/", "/capabilities", "/mcp", "/a2a"].map(|path| format!("https://acme.test{path}"));
        assert_eq!(anchors, expected, "{list}");
    }

    #[test]
    fn what_the_site_has_of_its_own_is_not_listed_and_its_own_list_stays() {
        let mut occupied = Occupied::default();
        occupied.insert("/mcp".into());
        let list = listed(&snapshot("", occupied.clone())).to_string();
        assert!(!list.contains("/mcp\"") && list.contains("/openapi.json"), "{list}");
        occupied.insert(PATH.into());
        assert!(snapshot("", occupied).document(PATH).is_none());
    }

    #[test]
    fn it_has_the_type_of_its_rfc() {
        let snapshot = snapshot("", Occupied::default());
        let endpoint = snapshot.endpoints.find(&crate::path::Path::of(PATH), &Method::HEAD).unwrap();
        let reply = endpoint.published().unwrap().respond(&Method::HEAD, &HeaderMap::new(), &String::new).unwrap();
        let kind = reply.headers.iter().find(|(name, _)| name == "content-type").unwrap();
        assert_eq!(kind.1, MEDIA_TYPE);
    }
}
