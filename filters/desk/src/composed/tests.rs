//! A composition made at run time runs like a declared one.

use super::*;
use crate::Compiled;
use crate::{
    Called, Prepared,
    testing::{Around, ask, at_desk, declared},
};
use frontdesk_caller::Caller;
use frontdesk_config::{Capability, Declaration, Recipe, RecipeStep};
use frontdesk_state::testing::run;
use std::collections::HashMap;

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

/// Its outcome at a desk with this declaration, once it was confirmed.
fn called(around: &Around, declaration: &Declaration, prepared: &Prepared) -> Carried {
    let compiled = Compiled::new(declaration, &HashMap::new());
    let caller = Caller::at([192, 0, 2, 1].into());
    at_desk(around, &compiled, |desk| {
        let first = run(desk.carry_out(ask(&caller, Called::Composed(prepared), None)));
        let Outcome::NeedsConfirmation(asked) = &first.outcome else { panic!("{first:?}") };
        assert!(asked.summary.contains("Step 1: take; \"id\": from step 0."), "{}", asked.summary);
        let carried = run(desk.carry_out(ask(&caller, Called::Composed(prepared), Some(&asked.token))));
        // A retry gets the same answer.
        let again = run(desk.carry_out(ask(&caller, Called::Composed(prepared), None)));
        assert!(matches!(again.outcome, Outcome::Done(Done { replayed: true, .. })), "{again:?}");
        carried
    })
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
