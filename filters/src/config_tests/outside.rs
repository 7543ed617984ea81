//! Values from the environment and from files, and where they may be shown.

use super::*;

#[test]
fn references_to_the_outside() {
    let outside = Pretended::default()
        .var("HOST", "127.0.0.1\"\nca = \"/etc/passwd")
        .var("NAME", "Caf\u{e9}")
        .var("EMPTY", "")
        .file("/run/secrets/x", "s3cret\n")
        .file("/conf/near", "near\r\n");
    let text = with_upstream(
        r#"[site]
name = "${NAME} ${NONE:-by the sea}"
description = "${{ kept }} ${EMPTY:-else}$ ${file:near}"
operator = '${HOST}'
contact = "${file:/run/secrets/x}"
"#,
    );
    let declared = declare_in(&text, &outside).unwrap();
    let site = declared.contract.get("site").unwrap();
    assert_eq!(site.get("name").unwrap().as_str(), Some("Caf\u{e9} by the sea"));
    assert_eq!(site.get("description").unwrap().as_str(), Some("${{ kept }} else$ near"));
    assert_eq!(site.get("contact").unwrap().as_str(), Some("s3cret"));
    assert!(declared.settings.upstream.ca.is_none(), "a value cannot add a key");
    let tables: serde_json::Value = serde_json::from_str(&declared.tables).unwrap();
    assert_eq!(tables["site"]["contact"], "[redacted]");
    assert_eq!(declared.references, [Path::new("/conf/near"), Path::new("/run/secrets/x")]);

    let wrong = "[site]\nname = \"${NONE}\"\noperator = '${open'\ncontact = '${file:/no}'\ndescription = '${1x}'\n";
    assert_eq!(
        refused(&with_upstream(wrong)),
        [
            ":4: site.name: the environment has no NONE; set it, or write ${NONE:-default}",
            ":5: site.operator: \"${\" is never closed; write ${VAR}, ${VAR:-default} or ${file:/path}",
            ":6: site.contact: cannot read /no: entity not found",
            ":7: site.description: ${1x} is no reference; write ${VAR}, ${VAR:-default} or ${file:/path}",
        ]
    );
}

#[test]
fn only_a_replaced_string_may_stand_for_a_number_or_a_boolean() {
    let outside = Pretended::default().var("YES", "true").var("N", "5").var("BAD", "hunter2");
    let text = with_upstream("[listen]\nh2c = \"${YES}\"\n[protection]\nmax_connections = \"${N}\"\n");
    let declared = declare_in(&text, &outside).unwrap();
    assert!(declared.settings.listen.h2c);
    assert_eq!(declared.settings.protection.max_connections, 5);
    refuses("[protection]\nmax_connections = \"5\"\n", "expected a whole number from 1");

    refuses("[admin]\ntoken_sha256 = 'hunter2'\n", "admin.token_sha256: what is written here is not a SHA-256");
    refuses("[site]\norigin = 'http://me:hunter2@a'\n", "\"http://[redacted]@a\" carries a user or a password");

    let harness = "[harness]\nurl = 'http://me:hunter2@a/x'\n";
    refuses(harness, ":4: harness.url: \"http://[redacted]@a/x\" carries a user or a password; put the secret into");
    let keys = "[auth]\nissuer = 'i'\naudience = 'a'\njwks = 'https://me:hunter2@a/keys'\n";
    refuses(keys, "auth.jwks: \"https://[redacted]@a/keys\" carries a user or a password");
    refuses("[paths]\nconverse = '/'\n", "paths.converse: \"/\" is all of the site; choose another path");

    // A value from outside is not repeated in any message.
    let named = "[auth]\n[[capabilities]]\nid = \"${BAD}\"\ntype = 'query'\nendpoint = '/a'\nrequired_scopes = ['a']\n";
    let warned = declare_in(&with_upstream(named), &outside).unwrap().warnings;
    let warned: Vec<String> = warned.iter().map(ToString::to_string).collect();
    assert!(warned.concat().contains("${…} needs a credential") && !warned.concat().contains("hunter2"), "{warned:#?}");
    let wrong = with_upstream("[listen]\nh2c = \"${BAD}\"\nhttps = \"${BAD}\"\n[log]\nlevel = \"${BAD}\"\n");
    let refused = refused_in(&wrong, &outside);
    assert_eq!(refused.len(), 4, "{refused:#?}");
    assert!(!refused.concat().contains("hunter2"), "{refused:#?}");
}

#[test]
fn the_operator_sees_all_but_the_secrets() {
    let text = FRONTDESK.replace("url = \"memory:\"", "url = \"redis://me:hunter2@cache:6379/0\"");
    let outside = Pretended::with_keys().var("HARNESS_TOKEN", "hunter2");
    let declared = declare_in(&text, &outside).unwrap();
    let tables: serde_json::Value = serde_json::from_str(&declared.tables).unwrap();
    assert!(!tables.to_string().contains("hunter2"));
    assert!(!tables.to_string().contains("9f86d081"));
    assert_eq!(tables["harness"]["token"], "[redacted]");
    assert_eq!(tables["store"]["url"], "redis://[redacted]@cache:6379/0");
    assert_eq!(tables["admin"]["token_sha256"], "");
    assert_eq!(tables["capabilities"][0]["upstream"]["headers"]["X-Channel"], "[redacted]");
    assert_eq!(tables["capabilities"][0]["upstream"]["path"], "/api/flights");
    assert_eq!(tables["tls"]["key"], "keys/tls.key");
    assert_eq!(tables["auth"]["signed_agents"]["keys"][0]["jwk"]["crv"], "Ed25519");
    let jwk = "[[auth.signed_agents.keys]]\nagent = 'https://a'\njwk = { kty = 'OKP', d = 'private' }\n";
    refuses(jwk, "auth.signed_agents.keys[0].jwk: is a private key");
}

#[test]
fn the_hash_changes_with_the_text_the_environment_and_the_files() {
    let text = with_upstream("[site]\nname = \"${NAME:-x}\"\n[firewall]\npatterns = 'p'\n");
    let hash = |text: &str, name, file| {
        let outside = Pretended::default().var("NAME", name).file("/conf/p", file);
        declare_in(text, &outside).unwrap().hash
    };
    let first = hash(&text, "a", "1");
    assert_eq!(first.len(), 64);
    assert_eq!(first, hash(&text, "a", "1"));
    let changed = [hash(&format!("{text}#"), "a", "1"), hash(&text, "b", "1"), hash(&text, "a", "2")];
    assert!(changed.iter().all(|hash| *hash != first));
}
