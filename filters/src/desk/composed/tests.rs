//! What was put together while we run is carried out like what was declared.

use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;

use super::*;
use crate::{
    caller::Caller,
    chain::Chains,
    concierge::Library,
    desk::{
        Answer, Authority, Background, Busy, Call, Desk, Errand, Failed, Finish, Holders, Kept, Outside, Prepared,
        Upstream,
    },
    site::{Capability, Declaration, Learned, Recipe, RecipeStep, Snapshot, declare_text, testing::Nowhere},
    state::testing::{Home, Shelf, run},
};

/// Everything outside, as far as a call gets to it.
#[derive(Default)]
struct Around {
    /// What the site was asked.
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Upstream for Around {
    async fn call(&self, call: Call<'_>) -> Result<Answer, Failed> {
        let body = String::from_utf8_lossy(&call.body).into_owned();
        self.asked.lock().push(format!("{} {} {body}", call.method, call.target));
        let body = Bytes::from_static(b"{\"id\":\"x-1\",\"n\":3}");
        Ok(Answer { status: StatusCode::OK, headers: HeaderMap::new(), body })
    }
}

impl Holders for Around {
    fn name(&self) -> &str {
        "here"
    }

    fn is_gone(&self, name: &str) -> bool {
        name != "here"
    }
}

#[async_trait]
impl Background for Around {
    async fn run(&self, _: Errand, _: Box<dyn Finish>) -> Result<Option<Carried>, Busy> {
        Err(Busy)
    }
}

#[async_trait]
impl Outside for Around {
    fn check(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    async fn deliver(&self, _: &str, _: Bytes) -> Result<(), String> {
        Ok(())
    }

    fn undelivered(&self, _: &str, _: &str) {}
}

fn declared(text: &str) -> Declaration {
    let text = format!("[upstream]\nurl = \"http://127.0.0.1:1\"\n{text}");
    declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap()
}

const HIDDEN: &str = "[[capabilities]]\nid = 'find'\ntype = 'query'\nauth = 'none'\nexposed = false\n\
    endpoint = '/find'\nrisk_level = 'low'\n\
    [[capabilities]]\nid = 'take'\ntype = 'commit_action'\nauth = 'none'\nexposed = false\n\
    endpoint = '/take'\nrisk_level = 'high'\nrequires_user_confirmation = true\n";

fn made(declaration: &Declaration) -> Prepared {
    let step = |capability: &str, input: Value| RecipeStep { capability: capability.into(), input };
    let recipe = Recipe {
        name: "made".into(),
        version: "1".into(),
        method: None,
        path: None,
        description: Some("Takes what is found.".into()),
        steps: vec![step("find", json!("{input}")), step("take", json!({ "id": "{steps.0.data.id}" }))],
    };
    let own = Capability::of_recipe("made-1".into(), &recipe);
    Prepared::composed(own, &recipe, &declaration.settings).unwrap()
}

/// What became of it at a desk of this declaration, once it was confirmed.
fn called(around: &Around, declaration: &Declaration, prepared: &Prepared) -> Carried {
    let (kept, counters, library) = (Kept::default(), Home::new(), Library::empty());
    let (shelf, chains) = (Shelf::default(), Chains::default());
    let snapshot = Snapshot::compile(declaration, &Learned::default());
    let desk = Desk {
        snapshot: &snapshot,
        records: &shelf,
        holders: around,
        upstream: around,
        audit: None,
        kept: &kept,
        chains: &chains,
        counters: &counters,
        library: &library,
        background: around,
        outside: around,
        harness: None,
        handoff: None,
    };
    let caller = Caller::at([192, 0, 2, 1].into());
    let first = run(desk.carry_out(ask(&caller, prepared, None)));
    let Outcome::NeedsConfirmation(asked) = &first.outcome else { panic!("{first:?}") };
    assert!(asked.summary.contains("Step 1: take; \"id\": from step 0."), "{}", asked.summary);
    let carried = run(desk.carry_out(ask(&caller, prepared, Some(&asked.token))));
    // Whoever repeats it is told the same.
    let again = run(desk.carry_out(ask(&caller, prepared, None)));
    assert!(matches!(again.outcome, Outcome::Done(Done { replayed: true, .. })), "{again:?}");
    carried
}

fn ask<'a>(caller: &'a Caller, prepared: &'a Prepared, token: Option<&'a str>) -> Ask<'a> {
    Ask {
        capability: Called::Composed(prepared),
        input: json!({ "what": "x" }),
        caller,
        authority: Authority::of(caller),
        confirmation: token,
        idempotency_key: Some("k"),
        request_id: "r",
        dialect: "test",
        host: "site.test",
        talk: Talk::default(),
        beside: Map::new(),
        wish: None,
        begun: None,
        unnamed: false,
    }
}

#[test]
fn what_no_declaration_names_goes_the_same_way() {
    let (around, declaration) = (Around::default(), declared(HIDDEN));
    let prepared = made(&declaration);
    let carried = called(&around, &declaration, &prepared);
    let Outcome::Done(done) = &carried.outcome else { panic!("{carried:?}") };
    assert_eq!(*done.told.data.value(), json!({ "id": "x-1", "n": 3 }));
    let expected = ["POST /find {\"what\":\"x\"}", "POST /take {\"id\":\"x-1\"}"];
    assert_eq!(*around.asked.lock(), expected);
    let counted: Vec<_> = carried.account.steps.iter().map(|step| (step.capability.as_str(), step.decision)).collect();
    assert_eq!((carried.account.capability.as_str(), counted), ("made-1", vec![("take", "done")]));
}

#[test]
fn what_was_put_together_outlives_the_declaration_that_it_was_made_from() {
    let (around, declaration) = (Around::default(), declared(HIDDEN));
    let prepared = made(&declaration);
    let other = declared("[[capabilities]]\nid = 'else'\ntype = 'query'\nendpoint = '/else'\nrisk_level = 'low'\n");
    called(&around, &other, &prepared);
    assert_eq!(around.asked.lock().len(), 2);
}
