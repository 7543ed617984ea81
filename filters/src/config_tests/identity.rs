//! The hosted agent's Genesis is verified before anything runs.

use super::*;
use frontdesk_agtp::genesis::testing::GENESIS;

fn with_agent(genesis: &'static str, more: &str) -> (Pretended, String) {
    let outside = Pretended::with_keys().file("/conf/agent.genesis.json", genesis);
    (outside, with_upstream(&format!("[agtp]\nagent = 'agent.genesis.json'\n{more}")))
}

const SIGNED: &str = "[integrity]\nkey = 'keys/signing-key.pem'\n";

#[test]
fn a_genesis_that_does_not_verify_is_a_mistake() {
    let tampered: &'static str = Box::leak(GENESIS.replace("documents:query", "*:*").into_boxed_str());
    for (genesis, words) in
        [(tampered, "does not verify under its issuer_public_key"), ("", "is not JSON"), ("{}", "has no signature")]
    {
        let (outside, text) = with_agent(genesis, SIGNED);
        let refused = refused_in(&text, &outside);
        assert!(
            matches!(&refused[..], [line] if line.contains(":4: agtp.agent: ") && line.contains(words)),
            "{refused:#?}"
        );
    }
}

#[test]
fn one_that_does_is_loaded_and_what_is_odd_about_it_is_told() {
    let (outside, text) = with_agent(GENESIS, SIGNED);
    let declaration = declare_in(&text, &outside).unwrap();
    let of_agent = declaration.warnings.iter().filter(|warning| warning.key == "agtp.agent").map(line);
    let warned: Vec<String> = of_agent.collect();
    assert!(warned.len() == 1 && warned[0].contains("active again after a restart"), "{warned:#?}");
    let (outside, text) = with_agent(GENESIS, "");
    let warned: Vec<String> = declare_in(&text, &outside).unwrap().warnings.iter().map(line).collect();
    assert!(
        warned.iter().any(|line| line.contains("records without a signature; give [integrity] a key")),
        "{warned:#?}"
    );
    let pretty: serde_json::Value = serde_json::from_str(GENESIS).unwrap();
    let pretty = Box::leak(serde_json::to_string_pretty(&pretty).unwrap().into_boxed_str());
    let (outside, text) = with_agent(pretty, SIGNED);
    let warned: Vec<String> = declare_in(&text, &outside).unwrap().warnings.iter().map(line).collect();
    assert!(warned.iter().any(|line| line.contains("is not in canonical form")), "{warned:#?}");
}

#[test]
fn a_server_has_a_name_that_a_header_can_hold() {
    accepts("[agtp]\nserver_id = 'gw.example.test:4480'\n");
    for wrong in ["", "two words", "sch\u{f6}n", &"a".repeat(129)] {
        refuses(&format!("[agtp]\nserver_id = '{wrong}'\n"), "agtp.server_id");
    }
}
