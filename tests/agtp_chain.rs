//! Promise: every answer is signed and part of one chain, also with concurrent requests and across a restart.

use crate::support::lamps::{self, hosting};
use crate::support::rates::at_once;
use crate::support::verbs::{record, verb};
use crate::support::{Desk, Dir, Origin, Response, SOON};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::Value;
use std::collections::HashMap;
use std::process::Command;

/// The public key for verifiers: the last 32 bytes of the key's DER.
fn public_key(desk: &Desk) -> Vec<u8> {
    let args = ["pkey", "-pubout", "-outform", "DER", "-in"];
    let made = Command::new("openssl").args(args).arg(desk.dir.join("signing-key.pem")).output();
    let der = made.expect("openssl is missing: run deploy/setup").stdout;
    der[der.len() - 32..].to_vec()
}

/// The record of an answer; its signature is the operator's.
fn signed(desk: &Desk, response: &Response) -> Value {
    let jws = response.header("attribution-record").expect("a record");
    let (said, signature) = jws.rsplit_once('.').expect("a signature");
    let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64url");
    let key = UnparsedPublicKey::new(&ED25519, public_key(desk));
    key.verify(said.as_bytes(), &signature).unwrap_or_else(|_| panic!("not signed by the operator: {jws}"));
    let (head, body) = said.split_once('.').expect("a payload");
    let forged = format!("{head}.{}A", &body[..body.len() - 1]);
    assert!(forged == said || key.verify(forged.as_bytes(), &signature).is_err(), "and by nobody for anything else");
    record(response, "signed")
}

/// The ids of these answers in the order of their chain, from whatever the first of them links to.
fn chained(desk: &Desk, answers: &[Response]) -> Vec<String> {
    let mut after = HashMap::new();
    for answer in answers {
        let previous = signed(desk, answer)["previous_audit_id"].as_str().expect("a link").to_owned();
        let id = answer.header("audit-id").expect("an id").to_owned();
        assert!(after.insert(previous, id).is_none(), "two link to the same");
    }
    let ids: Vec<&String> = after.values().collect();
    let first: Vec<&String> = after.keys().filter(|previous| !ids.contains(previous)).collect();
    assert_eq!(first.len(), 1, "one beginning: {first:?}");
    let mut chain = vec![first[0].clone()];
    while let Some(next) = after.get(chain.last().expect("a link")) {
        chain.push(next.clone());
    }
    assert_eq!(chain.len(), answers.len() + 1, "and nothing beside it");
    chain
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_of_fifty_calls_at_once_is_one() {
    let (_origin, desk) = lamps::with(hosting).await;
    let answers = at_once(&[&desk], vec![verb("QUERY", "/catalog"); 50]).await;
    chained(&desk, &answers);
}

#[tokio::test]
async fn chain_goes_on_where_the_process_before_ended() {
    let (origin, dir) = (Origin::start(lamps::says()).await, Dir::new());
    std::fs::create_dir(dir.join("store")).expect("the store's directory");
    let store = format!("url = \"file:{}\"", dir.join("store").display());
    let setup = hosting(lamps::before(&origin)).set("store", &store);
    let ask = async |desk: &Desk| desk.call(verb("QUERY", "/catalog")).await;
    let mut desk = setup.clone().start().await;
    let (first, second) = (ask(&desk).await, ask(&desk).await);
    let last = chained(&desk, &[first, second]).pop();
    desk.signal(libc::SIGTERM);
    desk.wait_exit(SOON * 2).await;
    let desk = setup.start().await;
    let (third, fourth) = (ask(&desk).await, ask(&desk).await);
    let segment = chained(&desk, &[third, fourth]);
    // The first of the new process links to the last that was stored.
    assert_eq!(segment.first(), last.as_ref());
}
