//! Checks of AGTP's verbs and paths, and the explanation of paths with verbs in them.

use super::*;
use frontdesk_agtp::{catalog::Catalog, template::Template};

/// A declaration with AGTP on, two capabilities, and what a test adds.
fn spoken(policy: &str, first: &str, second: &str) -> String {
    format!(
        "{policy}[[capabilities]]\nid = 'rooms.find'\ntype = 'query'\nrisk_level = 'low'\nendpoint = '/a'\n\
         input_schema = {{ properties = {{ id = {{}}, day = {{}} }} }}\n{first}\n[[capabilities]]\nid = 'rooms.book'\n\
         type = 'commit_action'\nrisk_level = 'low'\nendpoint = '/b'\nauth = 'required'\n{second}\n[agtp]\n"
    )
}

fn first(agtp: &str) -> String {
    spoken("", &format!("agtp = {{ {agtp} }}"), "")
}

fn methods(policy: &str) -> String {
    spoken("", "", "") + "[agtp.policies.methods]\n" + policy
}

/// With a catalog of version 2.0.0, in which RESERVE replaces BOOK and FRANK is a verb.
#[track_caller]
fn by_another_catalog(text: &str) -> Result<Vec<String>, Vec<String>> {
    let built_in = include_str!("../../../conf/catalog/agtp-1.0.0.json");
    let catalog = built_in
        .replace("\"version\": \"1.0.0\"", "\"version\": \"2.0.0\"")
        .replace("{\"name\": \"BOOK\",", "{\"name\": \"BOOK\", \"removed_in\": \"2.0.0\", \"successor\": \"RESERVE\",")
        .replace("{\"name\": \"YIELD\"", "{\"name\": \"FRANK\"},\n{\"name\": \"YIELD\"");
    let outside = Pretended::default().file("/conf/catalog.json", catalog.leak());
    let text = with_upstream(text).replace("[agtp]\n", "[agtp]\ncatalog = 'catalog.json'\n");
    let lines = |found: &[Mistake]| {
        let about = found.iter().filter(|mistake| !matches!(mistake.key.as_str(), "store.url" | "auth"));
        about.map(|mistake| mistake.to_string().replace("/conf/frontdesk.toml", "")).collect::<Vec<_>>()
    };
    match declare_in(&text, &outside) {
        Ok(declared) => Ok(lines(&declared.warnings)),
        Err(refused) => Err(lines(refused.mistakes())),
    }
}

#[test]
fn the_worked_site_goes_round_the_trap() {
    const SHOP: &str = include_str!("../../../conf/verbs.toml");
    let outside = Pretended::default().file("/conf/frontdesk.toml", SHOP);
    let review = review(Path::new("/conf/frontdesk.toml"), &outside).unwrap();
    assert_eq!(review.declaration.warnings, []);
    let remarks: Vec<_> = review.remarks.iter().map(line).collect();
    assert_eq!(remarks, [": warning: published, but nothing that Frontdesk can enforce: retention"]);
    let (catalog, capabilities) = (Catalog::built_in(), &review.declaration.settings.capabilities);
    assert_eq!(capabilities.len(), 20);
    // Most of the site's own paths could not be called.
    let trapped = capabilities.iter().filter(|capability| {
        let path = capability.upstream.as_ref().and_then(|upstream| upstream.path.as_deref()).unwrap();
        Template::parse(path.split('?').next().unwrap(), &catalog).is_err_and(|wrong| wrong.status == 460)
    });
    assert_eq!(trapped.count(), 18);
    for capability in capabilities.iter() {
        let agtp = &capability.agtp;
        let (method, path) = (agtp.method.as_deref().unwrap(), agtp.path.as_deref().unwrap());
        assert!(catalog.verb(method).is_some() && Template::parse(path, &catalog).is_ok(), "{}", capability.id);
    }
}

#[test]
fn a_path_with_a_verb_in_it_is_explained_and_another_proposed() {
    refuses(
        &first("path = '/rooms/search'"),
        ": capabilities[0].agtp.path: \"/rooms/search\" has the segment \"search\", which is the verb SEARCH; a path says \
         what, the verb before it what is done; write path = \"/rooms\" and method = \"SEARCH\"",
    );
    refuses(&first("path = '/check-out'"), "which is the verb CHECKOUT in another spelling");
    refuses(&first("path = '/search'"), "; write \"/searches\"");
    refuses(&first("path = '/rooms/'"), "\"/rooms/\" must not end with \"/\"; write \"/rooms\"");
    refuses(&first("path = '/rooms/x-{id}'"), "a place is a segment of its own");
    refuses(&first("path = '/r/{id}/{id}'"), "has two places for \"id\"");
    refuses(&first("path = '/zimmer/grün'"), "has a character that must be written in percent");
    let book = spoken("", "", "agtp = { path = '/rooms/book' }");
    refuses(&book, "capabilities[1].agtp.path: \"/rooms/book\" has the segment \"book\"");
    refuses(&book, "write path = \"/rooms\" and method = \"BOOK\"");
    refuses(
        &first("deprecated = { successor = { path = '/order' } }"),
        "capabilities[0].agtp.deprecated.successor.path: \"/order\" has the segment \"order\"",
    );
    let recipe =
        "[[agtp.recipes]]\nname = 'r'\nmethod = 'BOOK'\npath = '/rooms/pay'\nsteps = [{ capability = 'rooms.find' }]\n";
    refuses(&(spoken("", "", "") + recipe), "agtp.recipes[0].path: \"/rooms/pay\" has the segment \"pay\"");
    // Where AGTP is off, there is no mistake.
    accepts(&spoken("", "", "").replace("[agtp]\n", "").replace("rooms.find", "search"));
    accepts(&spoken("", "", "").replace("rooms.find", "search"));
    accepts(&first("path = '/rooms/{search}'").replace("day = {}", "search = {}"));
}

#[test]
fn every_place_is_an_input() {
    accepts(&first("path = '/rooms/{id}/days/{day}'"));
    refuses(&first("path = '/rooms/{dya}'"), "no property of the input_schema; did you mean \"day\"?");
    refuses(&first("path = '/rooms/{guest}'"), "declare it: properties = { guest = { type = \"string\" } }");
    refuses(&spoken("", "", "agtp = { path = '/rooms/{id}' }"), "has a place for \"id\", which is no property");
    let named = "[schemas.Room]\nallOf = [{ '$ref' = '#/schemas/Id' }]\n[schemas.Id.properties]\nid = {}\n";
    accepts(&spoken(named, "", "agtp = { path = '/rooms/{id}' }\ninput_schema = '#/schemas/Room'"));
    // A schema without a target was reported before.
    warns(&spoken("", "", "agtp = { path = '/rooms/{id}' }\ninput_schema = '#/schemas/Rome'"), "leads nowhere");
}

#[test]
fn no_two_endpoints_are_the_same() {
    let both = |one: &str, two: &str| {
        let with = |more: &str| format!("agtp = {{ {more} }}");
        spoken("", &with(one), &(with(two) + "\ninput_schema = { properties = { id = {}, b = {} } }"))
    };
    refuses(
        &both("path = '/rooms', method = 'BOOK'", "path = '/rooms', method = 'BOOK'"),
        "capabilities[1].agtp.path: BOOK /rooms is where capabilities[0] is already",
    );
    refuses(
        &both("path = '/rooms/{id}', method = 'BOOK'", "path = '/{id}/free', method = 'BOOK'"),
        "BOOK /{id}/free and the path of capabilities[0] may be asked for in the same words",
    );
    accepts(&both("path = '/rooms/{id}', method = 'BOOK'", "path = '/rooms/{id}', method = 'RESERVE'"));
    accepts(&both("path = '/rooms/{id}', method = 'BOOK'", "path = '/rooms/free', method = 'BOOK'"));
    accepts(&both("path = '/rooms/{id}', method = 'BOOK'", "path = '/{b}/{id}', method = 'BOOK'"));
    // By their ids, and beside the built-in ones.
    refuses(&spoken("", "", "agtp = { path = '/rooms-find', method = 'QUERY' }"), "QUERY /rooms-find is where");
    refuses(&first("path = '/site-info'"), "QUERY /site-info is where site_info, which is built in, is already");
    accepts(&spoken("[content]\nconcierge = false\n", "agtp = { path = '/site-info' }", ""));
    let recipe = |name: &str| {
        format!(
            "[[agtp.recipes]]\nname = '{name}'\nmethod = 'BOOK'\npath = '/rooms'\nsteps = [{{ capability = 'rooms.find' }}]\n"
        )
    };
    refuses(&(spoken("", "", "") + &recipe("a") + &recipe("b")), "BOOK /rooms is where agtp.recipes[0] is already");
    // A recipe is used only where no endpoint matches.
    accepts(&(spoken("", "", "agtp = { path = '/rooms', method = 'BOOK' }") + &recipe("a")));
    refuses(&(spoken("", "", "") + &recipe("a").replace("path = '/rooms'\n", "")), "method: needs path beside it");
}

#[test]
fn what_the_protocol_answers_itself_is_not_declared() {
    for path in ["/methods", "/methods/v2", "/agents-extended", "/Toolset", "/contracts/{id}", "/patterns-v2"] {
        let text = first(&format!("method = 'DISCOVER', path = '{path}'"));
        refuses(&text, "is the protocol's own; choose another path, or another verb");
    }
    accepts(&first("method = 'QUERY', path = '/methods'"));
    accepts(&first("method = 'DISCOVER', path = '/rooms/methods'"));
    for verb in ["QUERY", "DISCOVER", "PROPOSE", "EXECUTE", "REVOKE"] {
        refuses(&first(&format!("method = '{verb}', path = '/'")), &format!("{verb} / is the protocol's own"));
    }
    accepts(&first("method = 'BOOK', path = '/'"));
    refuses(&first("path = '/proposals/{id}'"), "QUERY below /proposals tells how a proposal stands");
}

#[test]
fn a_verb_is_one_of_the_catalog_or_one_of_the_servers_own() {
    refuses(&first("method = 'BOOKK'"), "\"BOOKK\" is no verb of the catalog 1.0.0; did you mean \"BOOK\"?");
    refuses(&first("method = 'GET'"), "write \"FETCH\": a method of HTTP says too little");
    refuses(&first("method = 'UNHEARDOF'"), "list it in agtp.policies.methods.allow as one of your own");
    refuses(&first("method = 'X-BOOK'"), "\"X-BOOK\" is no verb");
    accepts(&(first("method = 'UNHEARDOF'") + "[agtp.policies.methods]\nallow = ['UNHEARDOF']\n"));
    warns(
        &(first("method = 'CANCEL'") + "[agtp.policies.methods]\nallow = ['PAY']\n"),
        "capabilities[0].agtp.method: \"CANCEL\" is refused by agtp.policies.methods: no agent can call this",
    );
    warns(&(first("method = 'PAY'") + "[agtp.policies.methods]\ndisallow = ['PAY']\n"), "no agent can call this");
    refuses(&first("deprecated = { successor = { method = 'FIDN' } }"), "did you mean \"FIND\"?");
}

#[test]
fn what_names_a_removed_verb_degrades() {
    let endpoint = by_another_catalog(&spoken("", "", "agtp = { method = 'BOOK', path = '/rooms' }")).unwrap();
    assert_eq!(
        endpoint,
        [
            ":16: warning: capabilities[1].agtp.method: \"BOOK\" is no verb any more since version 2.0.0 of the catalog; \
          write \"RESERVE\"; until then it is not called by verbs (in capability \"rooms.book\")"
        ]
    );
    let policy = "allow = ['BOOK', 'EXECUTE', 'FRANK']\ndisallow = ['BOOK']\naliases = { HOLD = 'BOOK' }\n\
                  redirects = [{ from_method = 'RESERVE', to_method = 'BOOK' }]\n";
    let skipped = by_another_catalog(&methods(policy)).unwrap();
    assert_eq!(skipped.len(), 4, "{skipped:?}");
    assert!(skipped.iter().all(|line| line.ends_with("write \"RESERVE\"; it has no effect")), "{skipped:?}");
    // A new verb may occur in no path.
    assert_eq!(by_another_catalog(&first("method = 'FRANK'")), Ok(vec![]));
    let leaked = by_another_catalog(&first("path = '/rooms/frank'")).unwrap_err();
    assert!(leaked[0].contains("which is the verb FRANK"), "{leaked:?}");
    assert_eq!(by_another_catalog(&first("path = '/rooms/book'")), Ok(vec![]));
}

#[test]
fn a_catalog_is_one_or_is_refused() {
    let outside = Pretended::default().file("/conf/catalog.json", "{\"version\": \"2\", \"verbs\": []}");
    let text = with_upstream("[agtp]\ncatalog = 'catalog.json'\n");
    let refused = refused_in(&text, &outside);
    assert_eq!(refused, [":4: agtp.catalog: has the version \"2\", which is not MAJOR.MINOR.PATCH"]);
    refuses("[agtp]\ncatalog = 'gone.json'\n", "agtp.catalog: cannot read");
}

#[test]
fn the_policy_names_verbs() {
    accepts(&methods("allow = ['BOOK', 'EXECUTE', 'OUROWN']\ndisallow = ['TRANSFER']\n"));
    refuses(&methods("disallow = ['QUERY']\n"), "disallow[0]: \"QUERY\" is one of the 18 verbs that every server has");
    refuses(&methods("disallow = ['TRANSFR']\n"), "\"TRANSFR\" is no verb of the catalog; did you mean \"TRANSFER\"?");
    warns(&methods("disallow = ['PATCH']\n"), "disallow[0]: \"PATCH\" has no effect: it is another name for MODIFY");
    accepts(&methods("disallow = ['PATCH']\nlegacy = '*'\naliases = {}\n"));
    warns(&methods("allow = ['BOKK', 'EXECUTE']\n"), "and so one of your own; did you mean \"BOOK\"?");
    refuses(&methods("allow = ['GET']\n"), "legacy is where it is opted into");
    refuses(&methods("allow = ['HEAD']\n"), "is a method of HTTP, and no verb; leave it out");
    refuses(&methods("allow = ['X-OWN']\n"), "\"X-OWN\" is no verb; one is of 3 to 32 capital letters");
    refuses(&methods("legacy = ['HEAD']\n"), "legacy[0]: \"HEAD\" is none of GET, POST, PUT, DELETE, PATCH");
    refuses(&methods("legacy = ['PSOT']\naliases = {}\n"), "did you mean \"POST\"?");
    warns(&methods("legacy = ['GET']\n"), "legacy[0]: \"GET\" has no effect: it is another name for FETCH");
}

#[test]
fn another_name_leads_to_a_verb_in_one_step() {
    accepts(&methods("aliases = { GET = 'LIST', OURS = 'BOOK' }\n"));
    refuses(&methods("aliases = { OURS = 'BOKK' }\n"), "aliases.OURS: \"BOKK\" is no verb of the catalog");
    refuses(&methods("aliases = { ONE = 'TWO', TWO = 'BOOK' }\n"), "aliases.ONE: \"TWO\" is such a name itself");
    assert_eq!(refused(&with_upstream(&methods("aliases = { ONE = 'TWO', TWO = 'ONE' }\n"))).len(), 2);
    refuses(&methods("aliases = { ONE = 'ONE' }\n"), "\"ONE\" is such a name itself");
    refuses(&methods("aliases = { BOOK = 'RESERVE' }\n"), "aliases.BOOK: is a verb itself");
    refuses(&methods("aliases = { get = 'FETCH' }\n"), "aliases.get: is no name that could be sent");
    refuses(&methods("aliases = { GET = 'POST' }\n"), "write \"CREATE\"");
}

#[test]
fn a_redirect_is_one_step() {
    let redirects = |all: &[&str]| methods(&format!("redirects = [{}]\n", all.join(", ")));
    let step = |from: &str, from_path: &str, to: &str, to_path: &str| {
        let path = |key: &str, path: &str| if path.is_empty() { String::new() } else { format!(", {key} = '{path}'") };
        format!(
            "{{ from_method = '{from}', to_method = '{to}'{}{} }}",
            path("from_path", from_path),
            path("to_path", to_path)
        )
    };
    let booked = step("BOOK", "/room", "RESERVE", "/rooms");
    accepts(&redirects(&[&booked, &step("RESERVE", "/other", "HIRE", "")]));
    for from_path in ["/rooms", "", "/{any}"] {
        let next = step("RESERVE", from_path, "HIRE", "");
        refuses(&redirects(&[&booked, &next]), "redirects[0]: leads to what redirects[1] leads away from");
    }
    let around = redirects(&[&booked, &step("RESERVE", "/rooms", "BOOK", "/room")]);
    assert_eq!(refused(&with_upstream(&around)).len(), 2);
    refuses(&redirects(&[&step("BOOK", "", "BOOK", "/rooms")]), "redirects[0]: leads to where it begins");
    refuses(&redirects(&[&step("BOOK", "/a", "BOOK", "")]), "leads to where it begins");
    accepts(&redirects(&[&step("BOOK", "/a", "BOOK", "/b")]));
    accepts(&redirects(&[&step("BOOK", "/room/{id}", "RESERVE", "/rooms/{id}")]));
    refuses(
        &redirects(&[&step("BOOK", "", "RESERVE", "/rooms/{id}")]),
        "to_path: has a place for \"id\", which from_path",
    );
    refuses(&redirects(&[&step("BOOK", "/order", "RESERVE", "")]), "from_path: \"/order\" has the segment \"order\"");
    refuses(&redirects(&[&step("BOKK", "", "RESERVE", "")]), "from_method: \"BOKK\" is no verb");
    refuses(&redirects(&[&step("BOOK", "", "RESERV", "")]), "to_method: \"RESERV\" is no verb");
}

#[test]
fn what_has_no_effect_is_told() {
    let none = spoken("", "required_scopes = ['rooms:read']\nauth = 'none'", "");
    warns(&none, "capabilities[0].auth: \"none\" with required_scopes: an AGTP caller only has to claim");
    accepts(&none.replace("[agtp]\n", ""));
    warns(
        &(spoken("", "", "") + "[agtp.policies]\nwildcards_accepted = true\n"),
        "has no effect: only what is declared",
    );
    let rcns = spoken("", "", "") + "[agtp.policies.rcns]\nenabled = true\n";
    warns(&rcns, "agtp.policies.rcns.enabled: there is nothing to make a contract of");
    warns(&rcns, "agtp.policies.rcns.min_trust_tier: is 1, and no agent is of a better tier than 2 here");
    accepts(&rcns.replace("id = 'rooms.find'", "id = 'rooms.find'\nexposed = false"));
    let steps = "steps = [{ capability = 'rooms.find' }]\n";
    accepts(&(rcns + "[[agtp.recipes]]\nname = 'r'\nmethod = 'BOOK'\npath = '/r'\n" + steps));
}

#[test]
fn what_verbs_cannot_call_or_tell_of_is_found() {
    for scope in ["room", "X Y", "Rooms:read"] {
        let text = spoken("", "", &format!("required_scopes = ['{scope}']"));
        warns(
            &text,
            &format!("capabilities[1].required_scopes: \"{scope}\" is no scope that a caller of verbs can claim"),
        );
        let unspoken = warned(&with_upstream(&text.replace("[agtp]\n", "")));
        assert!(!unspoken.iter().any(|line| line.contains("claim")), "{unspoken:#?}");
    }
    accepts(&spoken("", "", "required_scopes = ['rooms:read', 'a:b:c']"));
    let upstream = |method: &str| spoken("", &format!("upstream = {{ method = '{method}', path = '/a' }}"), "");
    let upstream = |method: &str| upstream(method).replace("endpoint = '/a'\n", "");
    warns(&upstream("REPORT"), "capabilities[0].upstream.method: \"REPORT\" is nothing that a site is asked with");
    accepts(&upstream("OPTIONS"));
    let input = |kind: &str| spoken("", "", &format!("input_schema = {{ type = {kind} }}"));
    refuses(&input("'array'"), "capabilities[1].input_schema: describes no object");
    for kind in ["'object'", "['object', 'null']"] {
        accepts(&input(kind));
    }
    warns(&first("deprecated = { removed_in = '2' }"), "agtp.deprecated: does not say since when");
    accepts(&first("deprecated = { deprecated_in = '1', removed_in = '2' }"));
    let broken = first("deprecated = { deprecated_in = '1', removed_in = \"2\\r\\nX: y\" }");
    refuses(&broken, "agtp.deprecated.removed_in: holds a character that no header can");
}
