//! Cross checks: a mistake or a warning for each, and the nearest case that is accepted.

use super::*;

#[test]
fn listeners() {
    refuses("[listen]\nhttps = ':8443'\n", ":4: listen.https: needs [tls] with cert and key");
    refuses("[listen]\nagtp = ':4480'\n", "listen.agtp: needs [tls], or a loopback address");
    accepts("[listen]\nagtp = 'localhost:4480'\n");
    refuses("[listen]\nhttp = ['127.0.0.1:1', '127.0.0.1:1']\n", "127.0.0.1:1 is already taken by listen.http");
    refuses("[listen]\nhttp = ':9901'\n", ":4: listen.admin: 127.0.0.1:9901 is already taken by listen.http");
    accepts("[listen]\nhttp = ['127.0.0.1:0', '127.0.0.1:0', '[::1]:9901']\n");
    refuses("[listen]\nhttp = []\n", "listen.http: is empty");
    refuses("[listen]\nproxy_protocol = true\n", "listen.proxy_protocol: believes nobody");
    accepts("[listen]\ntrusted_proxies = ['10.0.0.1', 'fd00::/8']\nproxy_protocol = true\n");
    refuses("[listen]\ntrusted_proxies = ['10.0.0.0/8', 'x']\n", "listen.trusted_proxies[1]: \"x\" is not a network");
    warns("[listen]\ntrusted_proxies = ['::/0']\n", "listen.trusted_proxies: \"::/0\" trusts every client's statement");
    refuses("[listen]\nhttp = 'example.com'\n", "\"example.com\" is not an address to listen on");
    warns("[listen]\nadmin = ':9901'\n", "listen.admin: can be reached from elsewhere and has no token");
    let half = refused(&with_upstream("[tls]\ncert = ''\n"));
    assert_eq!(half[0], ":3: tls.key: missing; write the name of a file");
    assert_eq!(half[1], ":4: tls.cert: is empty; write the name of a file");
    let both = with_upstream("[tls]\ncert = 'tls.crt'\nkey = '/keys/tls.key'\n[listen]\nhttps = ':443'\nhttp = []\n");
    assert_eq!(
        refused(&both),
        [
            ":4: tls.cert: cannot read /conf/tls.crt: entity not found",
            ":5: tls.key: cannot read /keys/tls.key: entity not found"
        ]
    );
    let outside = Pretended::default().file("/conf/tls.crt", "").file("/keys/tls.key", "");
    let tls = declare_in(&both, &outside).unwrap().settings.tls.unwrap();
    assert_eq!(tls.cert, Path::new("/conf/tls.crt"));
    assert_eq!(tls.key, Path::new("/keys/tls.key"));
    assert_eq!(refused_in(&format!("{both}h2c = true\n"), &outside).len(), 1);
}

#[test]
fn upstreams() {
    assert_eq!(
        refused(""),
        [": upstream: missing: where is the site?; write [upstream] and url = \"http://127.0.0.1:3000\""]
    );
    assert_eq!(refused("[upstream]\n"), [":1: upstream.url: missing: where is the site?; write url or urls"]);
    assert!(refused("[upstream]\nurls = []\n")[0].contains("upstream.urls: is empty"));
    refuses("urls = ['http://a']\n", "upstream.urls: url is there too; write one of the two");
    let outside = Pretended::default().file("/conf/x", "");
    let half = refused_in("[upstream]\nurl = 'https://a'\nclient_cert = 'x'\n", &outside);
    assert_eq!(half, [":3: upstream.client_cert: needs upstream.client_key beside it"]);
    let half = refused_in(&with_upstream("[store]\nurl = 'rediss://a'\nclient_key = 'x'\n"), &outside);
    assert_eq!(half, [":5: store.client_key: needs store.client_cert beside it"]);
    let h2c = refused("[upstream]\nurls = ['http://a', 'https://b']\nhttp2 = 'prior-knowledge'\n");
    assert!(h2c[0].starts_with(":3: upstream.http2: \"prior-knowledge\" is HTTP/2 without TLS"), "{h2c:?}");
    refuses("health_path = 'healthz'\n", "upstream.health_path: \"healthz\" must begin with \"/\"");
    refuses("connect_timeout = '0s'\n", "must be longer than nothing");
    warns("server_name = 'a'\n", "upstream.server_name: has no effect");
    warns("health_interval = '1s'\n", "has no effect without upstream.health_path");
    let two = declare_here("[upstream]\nurls = ['http://a', 'https://b']\n").unwrap().settings.upstream;
    assert_eq!(two.urls.iter().map(|url| url.port).collect::<Vec<_>>(), [80, 443]);
}

#[test]
fn capabilities() {
    warns(
        "[[capabilities]]\nid = 'a'\ntype = 'query'\n[capabilities.ahp]\nresponse_types = ['application/ld+json']\n",
        "ahp.response_types: \"application/ld+json\" is no type that a manifest takes",
    );
    accepts(&capability(""));
    refuses("[[capabilities]]\ntype = 'query'\n", ":3: capabilities[0].id: missing");
    refuses("[[capabilities]]\nid = 'a'\n", "capabilities[0].type: missing");
    refuses("[capabilities]\nid = 'a'\n", "expected a list of tables, got a table; write [[capabilities]]");
    refuses(
        &(capability("") + "[[capabilities]]\nid = 'a.b'\ntype = 'event'\n"),
        "is there already: capabilities[0], line 3",
    );
    refuses(&(capability("") + "[[capabilities]]\nid = 'a_b'\ntype = 'event'\n"), "\"a_b\" is the AHP name of");
    for (id, name) in [("A.B", "a_b"), ("a-b", "a_b"), ("a b", "a_b")] {
        let more = format!("[[capabilities]]\nid = '{id}'\ntype = 'event'\n");
        refuses(&(capability("") + &more), &format!("\"{name}\" is the AHP name of"));
    }
    let long = |last: &str| format!("[[capabilities]]\nid = '{}{last}'\ntype = 'event'\n", "a".repeat(64));
    refuses(&long("b"), "capabilities[0].id: makes a name of 65 characters");
    for wrong in ["a/b", "A", "a{b}", "a b", "1"] {
        refuses(&capability(&format!("ahp = {{ name = '{wrong}' }}\n")), "is no name that agents can call");
    }
    refuses(&(capability("") + &capability("").replace("a.b", "c")), "GET /a is where capabilities[0] is already");
    refuses(&capability("upstream = { path = '/x', desk = true }\n"), "upstream.desk: path is there too");
    refuses(&capability("upstream = { url = 'http://a/x' }\n"), "upstream.url: \"http://a/x\" is not a URL");
    refuses(&capability("agtp = { confidence = 1.5 }\n"), "expected a number from 0 to 1, got 1.5");
    refuses(&capability("[capabilities.ahp]\nmode = 'MODE4'\n"), "did you mean \"MODE1\"?");
    refuses(&capability("[capabilities.aom]\nfreshnes = {}\n"), "did you mean \"freshness\"?");
}

#[test]
fn what_an_action_promised_needs_a_home() {
    let action = capability("").replace("type = 'query'", "type = 'commit_action'");
    warns(&action, "store.url: \"memory:\" forgets at a restart");
    for fine in
        [format!("{action}exposed = false\n"), format!("[store]\nurl = 'file:/var/lib/f'\n{action}"), capability("")]
    {
        let warned = warned(&with_upstream(&fine));
        assert!(!warned.iter().any(|line| line.contains("store.url")), "{fine}: {warned:?}");
    }
}

#[test]
fn the_audit_log_is_written_where_it_is_asked_for() {
    let audit = |text: &str| declare_here(&with_upstream(text)).unwrap().settings.audit;
    assert_eq!(audit(""), None);
    assert_eq!(audit("[audit]\nenabled = false\nretention = 'provider_policy'\n"), None);
    let (day, path) = (std::time::Duration::from_secs(86_400), Path::new("/conf/audit.jsonl").to_path_buf());
    let defaults = Audit { path, retention: None, max_size: 64 << 20, max_age: day };
    assert_eq!(audit("[audit]\n"), Some(defaults.clone()));
    let path = "/var/log/a.jsonl".into();
    assert_eq!(
        audit("[audit]\npath = '/var/log/a.jsonl'\nretention = '90 days'\nrotate_size = '1MB'\nrotate_age = '7d'\n"),
        Some(Audit { path, retention: Some(90 * day), max_size: 1 << 20, max_age: 7 * day })
    );
    // conf/frontdesk.toml shows the defaults.
    let shown = declare_in(FRONTDESK, &Pretended::with_keys()).unwrap().settings.audit;
    assert_eq!(shown, Some(Audit { retention: Some(90 * day), ..defaults }));
}

#[test]
fn a_retention_that_is_no_length_of_time_keeps_for_ever() {
    warns(
        "[audit]\nretention = 'provider_policy'\n",
        ":4: warning: audit.retention: \"provider_policy\" is not a duration; files of the audit log are kept for \
         ever; write \"90_days\", \"12_months\" or \"1_year\"",
    );
    warns("[audit]\nretention = 90\n", "audit.retention: 90 is not a duration");
    let off = with_upstream("[audit]\nenabled = false\nretention = 'provider_policy'\n");
    assert_eq!(warned(&off), Vec::<String>::new());
    refuses("[audit]\nrotate_size = '0'\n", "audit.rotate_size: \"0\" must be more than nothing");
    refuses("[audit]\nrotate_sise = '1MB'\n", "audit.rotate_sise: looks like a key that is never published");
}

#[test]
fn a_gateway_needs_somebody_who_is_known() {
    let gateway = "[harness]\nurl = 'http://a'\ngateway_path = '/harness'\n";
    warns(
        gateway,
        ":5: warning: harness.gateway_path: no agent can use it, because no credentials are configured; declare",
    );
    let known = format!("{gateway}[auth]\nissuer = 'https://i'\naudience = 'a'\njwks = 'https://i/keys'\n");
    assert_eq!(warned(&with_upstream(&known)), Vec::<String>::new());
}

#[test]
fn what_needs_a_credential_needs_somebody_who_has_one() {
    let key = format!("[auth]\n[[auth.api_keys]]\nname = 'a'\nsha256 = '{}'\n", "0f".repeat(32));
    let needs = "auth: a.b needs a credential, but none are configured: no agent can call it";
    for needing in ["auth = 'required'\n", "required_scopes = ['x']\n", "requires_strong_authentication = true\n"] {
        warns(&capability(needing), needs);
        assert_eq!(warned(&with_upstream(&(key.clone() + &capability(needing)))), Vec::<String>::new(), "{needing}");
    }
    let hidden = capability("auth = 'required'\nexposed = false\nupstream.path = '/x'\n");
    assert_eq!(warned(&with_upstream(&hidden)), Vec::<String>::new());
    let none = key.replace("[auth]\n", "[auth]\ntype = 'none'\n");
    warns(&(none.clone() + &capability("auth = 'required'\n")), "auth.type: \"none\", but a.b needs a credential");
    assert_eq!(warned(&with_upstream(&(none + &capability("auth = 'optional'\n")))), Vec::<String>::new());
}

#[test]
fn a_path_is_taken_once() {
    refuses("[paths]\nmcp = '/.well-known/agent.json'\n", "is where a document for agents is");
    refuses("[paths]\nconverse = '/agent/interface'\n", "is where a document for agents is");
    for taken in ["/.well-known/api-catalog", "/.well-known/ahp.json", "/llms.txt", "/agent/interface"] {
        refuses(&capability("").replace("/a'", &format!("{taken}'")), "is where a document for agents is");
    }
    for unmet in ["/ä", "/%61"] {
        refuses(&capability("").replace("/a'", &format!("{unmet}'")), "would never be met");
    }
    refuses("[paths]\nmcp = '/openapi.json'\n", ":4: paths.openapi: /openapi.json is already taken by paths.mcp");
    let gateway = "[harness]\nurl = 'http://a'\ngateway_path = '/'\n";
    refuses(gateway, "harness.gateway_path: \"/\" is all of the site; write a path such as");
    refuses("[harness]\nurl = 'http://a'\ngateway_path = '/mcp'\n", "harness.gateway_path: /mcp is already taken");
    refuses(&capability("").replace("/a'", "/mcp'"), "capabilities[0].endpoint: /mcp is already taken by paths.mcp");
    accepts(&(capability("") + &capability("").replace("a.b", "c").replace("GET", "POST")));
}

#[test]
fn a_summary_that_shows_what_may_be_missing_says_so() {
    let asks = |summary: &str| {
        let schema = "input_schema = { type = 'object', required = ['a'], properties = { a = {}, b = {} } }\n";
        capability(&format!("confirmation = {{ summary = '{summary}' }}\n{schema}"))
    };
    warns(
        &asks("Take {{ input.a }} {{ input.b }}"),
        "capabilities[0].confirmation.summary: shows input.b, which callers may leave out; such a call is summed up by its \
         description; write {% if input.b %} {{ input.b }}{% endif %}",
    );
    for fine in ["Take {{ input.a }}", "Take {{ input.a }}{% if input.b %} {{ input.b }}{% endif %}"] {
        assert_eq!(warned(&with_upstream(&asks(fine))), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn what_a_capability_refers_to() {
    let actions = "[[capabilities.aom.actions]]\nid = 'a.c'\n";
    refuses(&capability(actions), "actions[0].id: \"a.c\" is not the id of a capability; did you mean \"a.b\"?");
    refuses(&capability("upstream = { recipe = 'r' }\n"), "\"r\" is not a recipe of [[agtp.recipes]]");
    let recipe = "[[agtp.recipes]]\nname = 'r'\nsteps = [{ capability = 'a.b' }, { capability = 'ab' }]\n";
    let text = capability("upstream = { recipe = 'r' }\n") + recipe;
    refuses(&text, "agtp.recipes[0].steps[1].capability: \"ab\" is not the id");
    warns(&capability("input_schema = '#/schemas/Missing'\n"), "input_schema: \"#/schemas/Missing\" leads nowhere");
    let url = "input_schema = 'https://a/openapi.json#/components/schemas/X'\n";
    warns(&capability(url), "leads nowhere here; declare it in [schemas]");
    refuses(&capability("input_schema = { type = 'objekt' }\n"), "input_schema: is no JSON Schema that can be used");
    refuses(&capability("upstream = { path = '/x/{' }\n"), "upstream.path: has an opening brace without");
    refuses(&capability("upstream = { errors = { '200' = 'x' } }\n"), "is no status of a failure");
    warns(&capability("upstream = { errors = { '304' = 'x' } }\n"), "errors.304: agents get this name with 502");
    refuses(&capability("upstream = { headers = { Host = 'x' } }\n"), "is set by Frontdesk itself");
    refuses(
        &capability("upstream = { rename_input = { a = 'x', b = 'x' } }\n"),
        "is already the name of another input",
    );
    refuses(&capability("confirmation = { summary = '{{ input.x' }\n"), "summary: is no template that can be used");
    refuses(&capability("").replace("/a'", "/{a}-{b}'"), "has two placeholders in one segment");
    let twice =
        capability("").replace("/a'", "/x/{a}'") + &capability("").replace("a.b", "c").replace("/a'", "/x/{b}/'");
    refuses(&twice, "is where capabilities[0] is already");
}

#[test]
fn what_is_written_against_the_safe_default_is_obeyed_with_a_warning() {
    let action = "[[capabilities]]\nid = 'a'\ntype = 'commit_action'\nendpoint = '/a'\nauth = 'none'\n\
                  requires_user_confirmation = false\n";
    assert_eq!(
        warned(&with_upstream(action)),
        [
            ":3: warning: store.url: \"memory:\" forgets at a restart which actions were carried out, and no replica \
             knows of them; write \"file:/var/lib/frontdesk\" or \"redis://host:6379/0\"",
            ":3: warning: capabilities[0].risk_level: missing; it is published as high; \
             write low, medium, high or critical (in capability \"a\")",
            ":7: warning: capabilities[0].auth: an action that anyone may call (in capability \"a\")",
            ":8: warning: capabilities[0].requires_user_confirmation: an action that no person confirms (in capability \"a\")",
        ]
    );
    for mode in ["MODE1", "MODE2"] {
        let lower = format!("{action}[capabilities.ahp]\nmode = '{mode}'\n");
        warns(&lower, "capabilities[0].ahp.mode: \"MODE");
        let told = format!("[capabilities.ahp]\nmode = '{mode}'\naction_type = 'action'\n");
        warns(&capability(&told), "only MODE3 takes actions");
        assert_eq!(warned(&with_upstream(&capability(&told.replace("'action'", "'query'")))), Vec::<String>::new());
    }
    let read = capability("auth = 'none'\nrequires_user_confirmation = false\n");
    assert_eq!(warned(&with_upstream(&read)), Vec::<String>::new());
    warns("[[capabilities]]\nid = 'a'\ntype = 'query'\n", "capabilities[0].endpoint: missing");
    warns(&capability("data_sensitivity = 'internal'\n"), "\"internal\" is published as written; known are public");
    warns(
        "[formats]\njson = 'text/x'\n",
        "formats.json: \"text/x\" is published as written; known are application/aicp+json",
    );
    let own = "[[capabilities]]\nid = 'a'\ntype = 'query'\nrisk_level = 'low'\nendpoint = '/api/a'\nexposed = false\n";
    warns(own, "capabilities[0].exposed: its endpoint is the site's own, and is the site's alone");
    assert_eq!(warned(&with_upstream(&format!("{own}upstream = {{ path = '/b' }}\n"))), Vec::<String>::new());
}

#[test]
fn a_near_miss_of_what_is_never_published_is_a_mistake() {
    let with = |line: &str| format!("[[capabilities]]\nid = 'a.b'\ntype = 'query'\n{line}\n");
    refuses(&with("expossed = false"), "looks like a key that is never published");
    refuses(&with("upsteam = { path = '/in' }"), "did you mean \"upstream\"?");
    refuses(&with("UPSTREAM = { path = '/in' }"), "did you mean \"upstream\"?");
    warns(
        &with("AUTH = 'required'"),
        "capabilities[0].AUTH: not a known key; it is published as written; did you mean \"auth\"?",
    );
    warns("[cache]\nmax-age-seconds = 1\n", "did you mean \"max_age_seconds\"?");
}

#[test]
fn vectors_come_from_one_place_and_an_endpoint_names_its_model() {
    let content = |text: &str| with_upstream(&format!("[content]\n{text}"));
    let declared = |text: &str| declare_in(&content(text), &Pretended::default()).unwrap().settings.content;
    let least = declared("");
    assert_eq!((least.index, least.semantic, least.model), (None, None, None));
    let all = declared(
        "index = 'index'\n[content.semantic]\nurl = 'http://127.0.0.1:1/v1'\nname = 'm'\n[content.model]\n\
         url = 'http://127.0.0.1:1/v1'\nname = 'words'\n",
    );
    assert_eq!(all.index.as_deref(), Some(Path::new("/conf/index")));
    assert_eq!(
        all.semantic.map(|semantic| (semantic.url, semantic.name, semantic.model)),
        Some((Some("http://127.0.0.1:1/v1".into()), "m".into(), None))
    );
    let model = all.model.unwrap();
    assert_eq!((model.timeout.as_secs(), model.tokens_per_day), (20, 1_000_000));
    refuses(
        "[content.semantic]\nmodel = 'm'\nurl = 'http://a'\nname = 'm'\n",
        "content.semantic.url: model is there too",
    );
    refuses("[content.semantic]\nurl = 'http://a'\n", "content.semantic.name: missing");
    refuses("[content.semantic]\nurl = 'ftp://a'\nname = 'm'\n", "content.semantic.url: \"ftp://a\" is not a URL");
    refuses("[content.model]\nname = 'm'\n", "content.model.url: missing");
    refuses("[content.model]\nurl = 'http://u:p@a'\nname = 'm'\n", "carries a user or a password");
    refuses("[content.model]\nurl = 'http://a'\nname = 'm'\ntokens_per_day = 0\n", "content.model.tokens_per_day");
}
