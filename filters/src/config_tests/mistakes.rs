//! Mistakes are reported all in one run, each with its line and advice.

use super::*;

#[test]
fn all_mistakes_come_in_one_run_with_their_lines() {
    let text = r#"
[listen]
htpp = "127.0.0.1:8080"
h2c = "yes"
[upstream]
url = "http://127.0.0.1:3000/app"
read_timeout = "5 sec"
[log]
level = "debgu"
[[capabilities]]
id = "a.b"
type = "querry"
risk_level = "low"
endpoint = "x"
[capabilities.upstream]
method = "get"
timeout = 5
"#;
    assert_eq!(
        refused(text),
        [
            ":3: listen.htpp: unknown key; did you mean \"http\"?",
            ":4: listen.h2c: expected true or false, got \"yes\"",
            ":6: upstream.url: \"http://127.0.0.1:3000/app\" must stop after the host and port",
            ":7: upstream.read_timeout: \"5 sec\" is not a duration; write a whole number and a unit, as in \
             \"250ms\", \"5s\", \"15m\", \"24h\" or \"7d\"",
            ":9: log.level: \"debgu\" is not one of trace, debug, info, warn, error; did you mean \"debug\"?",
            ":12: capabilities[0].type: \"querry\" is not one of resource, query, compare, monitor, prepare_action, \
             commit_action, destructive_action, event, policy; \
             did you mean \"query\"? (in capability \"a.b\")",
            ":14: capabilities[0].endpoint: \"x\" must begin with \"/\" (in capability \"a.b\")",
            ":16: capabilities[0].upstream.method: \"get\" is not a method; write it in capitals, as in \"POST\" \
             (in capability \"a.b\")",
            ":17: capabilities[0].upstream.timeout: expected a string, got 5 (in capability \"a.b\")",
        ]
    );
}

#[test]
fn every_syntax_error_has_its_line() {
    let refused = declare_here("a = \n[upstream]\nurl = 'x\nb = 1 2\n").unwrap_err();
    assert_eq!(refused.exit_code(), 2);
    let lines: Vec<_> = refused.mistakes().iter().map(|mistake| mistake.line).collect();
    assert!(lines.len() >= 3 && lines.contains(&1) && lines.contains(&3) && lines.contains(&4), "{refused}");
    let twice = declare_here("[upstream]\nurl = 'a'\nurl = 'b'\n").unwrap_err();
    assert!(matches!(&twice, Refused::Unreadable(mistakes) if mistakes[0].line == 3), "{twice}");
}

#[test]
fn a_bottomless_file_is_refused() {
    let deep = "[".repeat(100_000);
    assert_eq!(declare_here(&format!("a = {deep}")).unwrap_err().exit_code(), 2);
    assert_eq!(declare_here(&format!("a{}=1", ".a".repeat(100_000))).unwrap_err().exit_code(), 2);
}

#[test]
fn what_cannot_be_read_is_unreadable() {
    let missing = declare(Path::new("/conf/none.toml"), &Pretended::default()).unwrap_err();
    assert_eq!(missing.exit_code(), 2);
    assert!(missing.to_string().starts_with("/conf/none.toml: cannot be read: "), "{missing}");
    let read = declare(Path::new("/conf/a.toml"), &Pretended::default().file("/conf/a.toml", UPSTREAM));
    assert!(read.is_ok());
    struct Latin1;
    impl Outside for Latin1 {
        fn var(&self, _: &str) -> Option<String> {
            None
        }
        fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
            Ok(vec![b'#', 0xE9])
        }
        fn is_dir(&self, _: &Path) -> bool {
            false
        }
    }
    let latin1 = declare(Path::new("/conf/a.toml"), &Latin1).unwrap_err();
    assert_eq!(latin1.to_string(), "/conf/a.toml: is not UTF-8 text");
}

#[test]
fn closed_tables_are_closed_and_open_ones_publish_what_they_do_not_know() {
    refuses("[contetn]\n", ":3: contetn: unknown key; did you mean \"content\"?");
    refuses("[content]\nurl = 'x'\n", "it belongs to [upstream] or [store] or [harness]");
    refuses("[admin]\nlisten = '127.0.0.1:9901'\n", "admin.listen: unknown key; did you mean listen.admin?");
    refuses("[agtp]\nlisten = '127.0.0.1:4480'\n", "agtp.listen: unknown key; did you mean listen.agtp?");
    refuses("[health]\nupstream = '/'\n", "health: unknown key");
    refuses("zzz = 1\n", "upstream.zzz: unknown key");
    refuses("[auth]\nscopes = []\n", "auth.scopes: unknown key");
    refuses("[confirmation]\nrequired = true\n", "confirmation.required: unknown key");
    let declared =
        declare_here(&with_upstream("[site]\nmotto = \"x\"\norigins = 1\n[policies]\nodd.deep = [1]\n")).unwrap();
    assert_eq!(
        declared.warnings.iter().map(line).collect::<Vec<_>>(),
        [":5: warning: site.origins: not a known key; it is published as written; did you mean \"origin\"?"]
    );
    let capability = "[[capabilities]]\nid = 'a'\ntype = 'query'\nrisk_level = 'low'\nscopes = ['a:read']\n";
    let declared_scopes = declare_here(&with_upstream(capability)).unwrap();
    assert!(declared_scopes.warnings.iter().any(|warning| line(warning).ends_with(
        "capabilities[0].scopes: not a known key; it is published as written; did you mean \"required_scopes\"? \
         (in capability \"a\")"
    )));
    let contract = declared.contract.to_json();
    assert_eq!(contract["site"]["motto"], "x");
    assert_eq!(contract["policies"]["odd"]["deep"][0], 1);
}

#[test]
fn keys_without_an_issuer_do_not_hide_authorization_servers() {
    let servers = "authorization_servers = ['https://login.test']\n";
    refuses(
        &format!("[auth]\njwks = 'https://login.test/keys'\n{servers}"),
        "auth.authorization_servers: auth.jwks is there without auth.issuer",
    );
    let needs_a_token = "[[capabilities]]\nid = 'a'\ntype = 'query'\nrisk_level = 'low'\nauth = 'required'\n";
    let declared = declare_here(&with_upstream(&format!("[auth]\n{servers}{needs_a_token}"))).unwrap();
    assert!(declared.warnings.iter().all(|warning| !line(warning).contains("no agent can call it")));
}

#[test]
fn bounds_words_and_digests() {
    refuses("[protection]\nmax_connections = 0\n", "expected a whole number from 1 to 10000000, got 0");
    refuses("[protection]\nclient_share = 101\n", "expected a whole number from 1 to 100, got 101");
    refuses("[protection]\nmax_header = '0KB'\n", "must be more than nothing");
    refuses("[protection]\nmin_rate = '2MB'\n", "protection.min_rate: \"2MB\" is more than 1MB a second");
    refuses("[protection]\nmin_rate = 500\n", "protection.min_rate");
    refuses("[protection]\ntransfer_timeout = '1 hour'\n", "is not a duration");
    accepts("[protection]\nmin_rate = '0'\ntransfer_timeout = '0s'\n");
    refuses("[token_budget]\nmax_response = 0\n", "expected a whole number from 1");
    refuses("[admin]\ntoken_sha256 = 'abc'\n", "is not a SHA-256");
    let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    refuses(
        &format!("[[auth.api_keys]]\nname = 'a'\nsha256 = '{of_nothing}'\n"),
        "auth.api_keys[0].sha256: what is written here is the SHA-256 of nothing: what it was made of was empty; make it of the secret",
    );
    accepts("[admin]\ntoken_sha256 = ''\n");
    refuses("[rate_limits]\nanonymous = '30/min'\n", "rate_limits.anonymous: \"30/min\" is not a rate; write N/second");
    refuses("[agtp]\nscope_violation = 403\n", "expected one of 455, 262, got 403");
    refuses("[handoff]\ndir = 'none'\n", "/conf/none is not a directory");
    refuses("[harness]\ntimeout = '1s'\n", "harness.url: missing: who is asked");
    refuses("[auth]\njwks = 'http://a/jwks'\n", "auth.jwks: \"http://a/jwks\" is not a URL; write \"https://host/…\"");
    accepts("[auth]\njwks = 'https://a/jwks'\n");
    accepts("[agtp.policies.methods]\nallow = ['BOOK']\nlegacy = ['GET']\naliases = {}\n");
    refuses("[agtp.policies.methods]\nallow = 'BOOK'\n", "must be \"*\" or a list of methods");
    let token = declare_here(&with_upstream(&format!("[admin]\ntoken_sha256 = '{}'\n", "0aF1".repeat(16)))).unwrap();
    assert_eq!(token.settings.admin.token_sha256.unwrap()[..2], [0x0A, 0xF1]);
}

proptest::proptest! {
    /// However a valid file is cut, the result is a declaration or mistakes.
    #[test]
    fn a_torn_file_never_panics(from in 0..FRONTDESK.len(), length in 0..400usize) {
        let chars = |range: std::ops::Range<usize>| FRONTDESK.char_indices().filter(move |(at, _)| range.contains(at));
        let torn: String = chars(0..from).chain(chars(from + length..usize::MAX)).map(|(_, char)| char).collect();
        if let Err(refused) = declare_in(&torn, &Pretended::with_keys()) {
            assert!(refused.mistakes().iter().any(Mistake::is_fatal));
        }
    }
}

#[test]
fn a_text_that_the_manifest_has_no_room_for_is_said_and_is_the_same_everywhere() {
    let text = format!(
        "{UPSTREAM}[site]\nname = '{}'\ndescription = '{}'\n[[capabilities]]\nid = 'a'\ntype = 'query'\nrisk_level = 'low'\ndescription = '{}'\n",
        "n".repeat(129),
        "d".repeat(514),
        "ä".repeat(257),
    );
    let declaration = declare_here(&text).unwrap();
    let of_lengths =
        |all: &[Mistake]| all.iter().map(line).filter(|said| said.contains("characters")).collect::<Vec<_>>();
    let said = of_lengths(&declaration.warnings);
    let expected =
        [(4, "site.name", 129, 128), (5, "site.description", 514, 512), (10, "capabilities[0].description", 257, 256)];
    let expected = expected.map(|(line, key, count, most)| {
        let capability = if key.starts_with("capabilities") { " (in capability \"a\")" } else { "" };
        format!(
            ":{line}: warning: {key}: has {count} characters, and at most {most} are published: it ends with \"…\" \
             everywhere; shorten it{capability}"
        )
    });
    assert_eq!(said, expected);
    let (name, description) = (format!("{}…", "n".repeat(127)), format!("{}…", "d".repeat(511)));
    let site = &declaration.settings.site;
    assert_eq!((site.name.as_ref(), site.description.as_ref()), (Some(&name), Some(&description)));
    let contract = declaration.contract.to_json();
    assert_eq!((&contract["site"]["name"], &contract["site"]["description"]), (&name.into(), &description.into()));
    assert_eq!(contract["capabilities"][0]["description"], format!("{}…", "ä".repeat(255)));
    let fits = text.replacen(&"n".repeat(129), &"n".repeat(128), 1).replacen(&"d".repeat(514), &"d".repeat(512), 1);
    let fits = declare_here(&fits.replacen(&"ä".repeat(257), &"ä".repeat(256), 1)).unwrap();
    assert_eq!(of_lengths(&fits.warnings), Vec::<String>::new());
}

#[test]
fn a_name_that_nobody_can_call_is_refused_with_its_line() {
    let capability = |id: &str, more: &str| {
        format!("{UPSTREAM}[[capabilities]]\nid = '{id}'\ntype = 'query'\nrisk_level = 'low'\n{more}")
    };
    let long = "x.".repeat(33);
    assert_eq!(
        refused(&capability(&long, "")),
        [format!(
            ":4: capabilities[0].id: makes a name of 66 characters, and agents can call one of at most 64; \
             shorten it, or write a name in ahp.name (in capability \"{long}\")"
        )]
    );
    // Every name begins with a letter.
    assert_eq!(refused(&capability(&"7".repeat(63), "")).len(), 1);
    for fits in [
        capability(&"x".repeat(64), ""),
        capability(&long, "ahp = { name = 'short' }\n"),
        capability(&long, "exposed = false\n"),
    ] {
        assert!(declare_here(&fits).is_ok(), "{fits}");
    }
}
