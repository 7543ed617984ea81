//! Recipes: possible steps, dead ends, and the restrictions that a capability takes from its steps.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;

/// A capability with an endpoint, and these lines.
fn capability(id: &str, lines: &str) -> String {
    let kind = if lines.contains("type =") { "" } else { "type = 'query'\n" };
    format!("[[capabilities]]\nid = '{id}'\nrisk_level = 'low'\nendpoint = '/at/{id}'\n{kind}{lines}\n")
}

fn by_recipe(id: &str, name: &str, lines: &str) -> String {
    capability(id, &format!("upstream = {{ recipe = '{name}' }}\n{lines}"))
}

fn recipe(name: &str, steps: &str) -> String {
    format!("[[agtp.recipes]]\nname = '{name}'\nsteps = [{steps}]\n")
}

fn settings(text: &str) -> Settings {
    declare_here(&with_upstream(text)).unwrap_or_else(|refused| panic!("{refused}")).settings
}

fn of<'s>(settings: &'s Settings, id: &str) -> &'s Capability {
    settings.capabilities.iter().find(|capability| capability.id == id).unwrap()
}

fn published(text: &str, id: &str) -> Value {
    let contract = declare_here(&with_upstream(text)).unwrap().contract.to_json();
    contract["capabilities"].as_array().unwrap().iter().find(|c| c["id"] == id).unwrap().clone()
}

#[test]
fn what_cannot_be_a_step_is_refused() {
    for (lines, words) in [
        ("type = 'event'", "\"x\" is of a type that is no step"),
        ("type = 'monitor'", "\"x\" is of a type that is no step"),
        ("type = 'policy'", "\"x\" is of a type that is no step"),
        ("upstream = { desk = true }", "\"x\" is answered by a person, later; a step has to answer at once"),
        ("upstream = { response = 'raw' }", "\"x\" tells its answer as it is, unread; write response = \"json\""),
    ] {
        let text = capability("x", lines) + &recipe("r", "{ capability = 'x' }");
        refuses(&text, &format!("agtp.recipes[0].steps[0].capability: {words}"));
    }
    let nowhere = capability("x", "exposed = false").replace("endpoint = '/at/x'\n", "");
    refuses(&(nowhere + &recipe("r", "{ capability = 'x' }")), "\"x\" has no address");
    refuses(&recipe("r", ""), "agtp.recipes[0].steps: has no steps; name at least one capability");
    for lines in ["exposed = false", "upstream = { response = 'wrap' }", "type = 'compare'", "type = 'commit_action'"] {
        accepts(&(capability("x", lines) + &recipe("r", "{ capability = 'x' }")));
    }
}

#[test]
fn a_reference_leads_to_the_input_or_to_a_step_before() {
    let with = |input: &str| {
        capability("x", "")
            + &recipe("r", &format!("{{ capability = 'x' }}, {{ capability = 'x', input = {{ a = '{input}' }} }}"))
    };
    for input in ["{steps.0.data.a.0}", "{steps.0.data}", "to {input.x}, {steps.0.data.b}", "{input}", "{}", "{x}"] {
        accepts(&with(input));
    }
    for (input, words) in [
        ("{data.a}", "steps[1].input: refers to {data.…}, which a recipe does not have"),
        ("{steps.1.data.a}", "steps[1].input: refers to step 1, which is not before it"),
        ("{steps.last.data.a}", "refers to step last, which is not before it"),
        ("{steps.0.a}", "refers to {steps.…} without its data; write {steps.0.data.…}"),
        ("{steps}", "refers to {steps.…} without its data"),
    ] {
        refuses(&with(input), words);
    }
    warns(&with("a {step.0.data.a}"), "steps[1].input: \"{step.0.data.a}\" is told as it is written; references begin");
}

#[test]
fn a_recipe_that_leads_back_to_itself_is_refused() {
    let itself = by_recipe("a", "r", "") + &recipe("r", "{ capability = 'a' }");
    refuses(&itself, "steps[0].capability: \"a\" is carried out by a recipe that leads back to itself; no recipe");
    let other = by_recipe("a", "r", "")
        + &by_recipe("b", "q", "")
        + &capability("x", "")
        + &recipe("r", "{ capability = 'x' }, { capability = 'b' }")
        + &recipe("q", "{ capability = 'a' }")
        + &recipe("fine", "{ capability = 'x' }");
    let all = refused(&with_upstream(&other));
    assert_eq!(all.len(), 2, "{all:#?}");
    assert!(all[0].contains("agtp.recipes[0].steps[1].capability: \"b\" is carried out"), "{all:#?}");
    assert!(all[1].contains("agtp.recipes[1].steps[0].capability: \"a\" is carried out"), "{all:#?}");
}

#[test]
fn steps_are_counted_with_those_of_recipes_within() {
    let text = |most: usize| {
        capability("x", "")
            + &by_recipe("two", "inner", "")
            + &format!("[agtp.policies]\nmax_synthesis_depth = {most}\n")
            + &recipe("outer", "{ capability = 'two' }, { capability = 'x' }, { capability = 'two' }")
            + &recipe("inner", "{ capability = 'x' }, { capability = 'x' }")
    };
    accepts(&text(5));
    refuses(
        &text(4),
        "agtp.recipes[0].steps: comes to 5 steps in all, and agtp.policies.max_synthesis_depth is 4; write",
    );
    // One step each, nested many recipes deep.
    let chain = |length: usize| {
        let mut text = capability("c0", "") + "[agtp.policies]\nmax_synthesis_depth = 100\n";
        for n in 1..=length {
            text += &by_recipe(&format!("c{n}"), &format!("r{n}"), "");
            text += &recipe(&format!("r{n}"), &format!("{{ capability = 'c{}' }}", n - 1));
        }
        text
    };
    accepts(&chain(16));
    refuses(&chain(17), "agtp.recipes[16].steps: has more than 16 recipes within each other; let one of them");
    assert_eq!(refused(&with_upstream(&chain(150))).len(), 150 - 16);
}

#[test]
fn a_recipe_takes_the_strictest_of_its_steps() {
    let hold = "type = 'prepare_action'\nexposed = false\nauth = 'required'\nrequired_scopes = ['hold', 'both']\n\
        requires_user_confirmation = true\ndata_sensitivity = 'personal'\nconfirmation = { expires = '2m' }\n\
        privacy = { purpose = 'travel', personal_data_required = ['name'], forbidden_fields = ['cvc'], \
        third_party_sharing = ['airline'], requires_explicit_consent = true }";
    let pay = "type = 'commit_action'\nauth = 'optional'\nrequired_scopes = ['pay', 'both']\n\
        requires_user_confirmation = false\nrequires_strong_authentication = true\nidempotency_required = true\n\
        data_sensitivity = 'regulated'\nprivacy = { forbidden_fields = ['pin', 'cvc'] }";
    let search = "auth = 'none'\ndata_sensitivity = 'public'\ncache_ttl_seconds = 60";
    let steps = recipe("r", "{ capability = 'search' }, { capability = 'hold' }, { capability = 'pay' }");
    let others = capability("search", search)
        + &capability("hold", hold)
        + &capability("pay", pay).replace("'low'", "'critical'")
        + &steps;
    let weak = by_recipe(
        "book",
        "r",
        "auth = 'none'\nrequired_scopes = ['own']\nrequires_user_confirmation = false\n\
         requires_strong_authentication = false\ndata_sensitivity = 'public'\ncache_ttl_seconds = 30\n\
         privacy = { forbidden_fields = ['ssn'], retention = '1d' }",
    );
    let text = weak + &others;
    let settings = settings(&text);
    let book = of(&settings, "book");
    assert_eq!((book.kind, book.risk()), (CapabilityKind::CommitAction, "critical"));
    assert_eq!(book.auth_need(), AuthNeed::Required);
    assert_eq!(book.required_scopes, ["own", "hold", "both", "pay"]);
    assert!(book.is_confirmed() && book.requires_strong_authentication && book.idempotency_required);
    assert_eq!((book.data_sensitivity.as_deref(), book.cache_ttl), (Some("regulated"), Duration::ZERO));
    assert_eq!(book.privacy.forbidden_fields, ["ssn", "cvc", "pin"]);
    assert_eq!(
        (&book.privacy.personal_data[..], &book.privacy.recipients[..]),
        (&["name".into()][..], &["airline".into()][..])
    );
    assert!(book.privacy.explicit_consent);
    assert_eq!(book.confirmation.expires, Duration::from_secs(120));
    let expected = json!({
        "id": "book", "type": "commit_action", "risk_level": "critical", "endpoint": "/at/book", "auth": "required",
        "required_scopes": ["own", "hold", "both", "pay"], "requires_user_confirmation": true,
        "requires_strong_authentication": true, "idempotency_required": true, "data_sensitivity": "regulated",
        "cache_ttl_seconds": 0, "privacy": {
            "forbidden_fields": ["ssn", "cvc", "pin"], "retention": "1d", "requires_explicit_consent": true,
            "personal_data_required": ["name"], "third_party_sharing": ["airline"],
        },
    });
    assert_eq!(published(&text, "book"), expected);
    let privacy = book.privacy.declared.as_ref().unwrap();
    assert_eq!(privacy, &expected["privacy"], "what an answer says of it");
    // A value that is too weak is reported, with the first step that needs more; an absent one is not.
    let warned: Vec<_> = warned(&with_upstream(&text))
        .into_iter()
        .filter(|line| line.contains("capabilities[0]") && line.contains(" of its recipe "))
        .collect();
    let about = |key: &str| {
        let lines: Vec<_> = warned.iter().filter(|line| line.contains(&format!("capabilities[0].{key}: "))).collect();
        assert_eq!(lines.len(), 1, "{key}: {warned:#?}");
        lines[0].clone()
    };
    assert!(
        about("type").contains(":7: warning: ")
            && about("type")
                .contains("\"query\" is less than step 1 of its recipe (hold) needs; \"commit_action\" holds")
    );
    assert!(
        about("risk_level")
            .contains("\"low\" is less than step 2 of its recipe (pay) needs; \"critical\" holds, and is published")
    );
    for key in [
        "auth",
        "required_scopes",
        "requires_user_confirmation",
        "requires_strong_authentication",
        "data_sensitivity",
        "cache_ttl_seconds",
        "privacy.forbidden_fields",
    ] {
        about(key);
    }
    assert_eq!(warned.len(), 9, "{warned:#?}");
}

#[test]
fn what_is_strict_already_stays_as_it_was_written() {
    let text = by_recipe("book", "r", "type = 'destructive_action'\nauth = 'required'").replace("'low'", "'high'")
        + &capability("hold", "type = 'prepare_action'\nauth = 'optional'\nrequires_user_confirmation = false")
        + &recipe("r", "{ capability = 'hold' }");
    let expected = json!({ "id": "book", "type": "destructive_action", "risk_level": "high", "endpoint": "/at/book",
        "auth": "required" });
    assert_eq!(published(&text, "book"), expected);
    assert!(!warned(&with_upstream(&text)).iter().any(|line| line.contains("capabilities[0]")));
    let settings = settings(&text);
    assert!(of(&settings, "book").is_confirmed(), "the safe default of an action is its own");
}

#[test]
fn what_is_said_of_nobody_stays_so_only_where_every_step_says_it() {
    let of_steps = |steps: &[&str], own: &str| {
        let mut text = by_recipe("all", "r", own);
        for (n, lines) in steps.iter().enumerate() {
            text += &capability(&format!("s{n}"), lines);
        }
        let names: Vec<_> = (0..steps.len()).map(|n| format!("{{ capability = 's{n}' }}")).collect();
        text + &recipe("r", &names.join(", "))
    };
    let public = "data_sensitivity = 'public'\ncache_ttl_seconds = 60";
    let own = "data_sensitivity = 'public'\ncache_ttl_seconds = 120";
    let both = of_steps(&[public, "data_sensitivity = 'public'\ncache_ttl_seconds = 90"], own);
    let settings = settings(&both);
    assert!(of(&settings, "all").is_public() && of(&settings, "all").cache_ttl == Duration::from_secs(60));
    let unsaid = of_steps(&[public, ""], own);
    let published = published(&unsaid, "all");
    assert_eq!((&published["data_sensitivity"], &published["cache_ttl_seconds"]), (&Value::Null, &json!(0)));
    warns(&unsaid, "data_sensitivity: \"public\" is less than step 1 of its recipe (s1) needs; nothing holds");
}

#[test]
fn a_recipe_within_a_recipe_is_as_strict_as_its_own_steps() {
    let text = by_recipe("outer", "o", "")
        + &by_recipe("inner", "i", "")
        + &capability("hold", "type = 'prepare_action'\nrequired_scopes = ['hold']").replace("'low'", "'critical'")
        + &recipe("o", "{ capability = 'inner' }")
        + &recipe("i", "{ capability = 'hold' }");
    let settings = settings(&text);
    for id in ["outer", "inner"] {
        let capability = of(&settings, id);
        assert_eq!((capability.kind, capability.risk()), (CapabilityKind::PrepareAction, "critical"), "{id}");
        assert!(capability.is_confirmed() && capability.required_scopes == ["hold"], "{id}");
    }
}

#[test]
fn what_is_only_read_does_not_become_an_action() {
    for kind in ["resource", "monitor", "event", "policy"] {
        let text = by_recipe("all", "r", &format!("type = '{kind}'"))
            + &by_recipe("inner", "i", "")
            + &capability("hold", "type = 'prepare_action'")
            + &recipe("r", "{ capability = 'inner' }")
            + &recipe("i", "{ capability = 'hold' }");
        let words = format!(
            "capabilities[0].type: \"{kind}\" does nothing, and its recipe carries out hold; write \"prepare_action\""
        );
        refuses(&text, &words);
    }
    accepts(
        &(by_recipe("all", "r", "type = 'resource'") + &capability("x", "") + &recipe("r", "{ capability = 'x' }")),
    );
}

#[test]
fn what_a_recipe_does_not_heed_is_told_of() {
    for (key, value) in
        [("method", "'POST'"), ("timeout", "'3s'"), ("errors", "{ '404' = 'x' }"), ("response", "'wrap'")]
    {
        let text = by_recipe("all", "r", "").replace("recipe = 'r'", &format!("recipe = 'r', {key} = {value}"))
            + &capability("x", "")
            + &recipe("r", "{ capability = 'x' }");
        warns(&text, &format!("capabilities[0].upstream.{key}: has no effect beside upstream.recipe"));
    }
}

#[test]
fn what_is_put_together_while_we_run_is_judged_alike() {
    let settings = settings(
        &(capability("search", "auth = 'none'\ndata_sensitivity = 'public'\ncache_ttl_seconds = 60")
            + &capability(
                "hold",
                "type = 'prepare_action'\nexposed = false\nauth = 'required'\nrequired_scopes = ['hold']",
            )
            + &capability("feed", "type = 'event'")),
    );
    let step = |capability: &str, input: Value| RecipeStep { capability: capability.into(), input };
    let recipe = |steps: Vec<RecipeStep>| Recipe {
        name: "r".into(),
        version: "7".into(),
        method: None,
        path: None,
        description: None,
        steps,
    };
    let made = |steps| {
        let recipe = recipe(steps);
        crate::desk::Prepared::composed(Capability::of_recipe("made-1".into(), &recipe), &recipe, &settings)
    };
    let made_of_both = made(vec![step("search", json!("{input}")), step("hold", json!({ "id": "{steps.0.data.id}" }))]);
    let prepared = made_of_both.unwrap();
    let capability = prepared.capability();
    assert_eq!((capability.id.as_str(), capability.kind), ("made-1", CapabilityKind::PrepareAction));
    assert_eq!(
        (capability.auth_need(), &capability.required_scopes[..]),
        (AuthNeed::Required, &["hold".to_owned()][..])
    );
    assert!(capability.is_confirmed() && !capability.is_public() && capability.cache_ttl.is_zero());
    let read = made(vec![step("search", json!("{input}"))]).unwrap();
    let read = read.capability();
    assert!(
        read.is_public() && read.cache_ttl == Duration::from_secs(60) && !read.is_confirmed() && read.risk() == "low"
    );
    let wrong = made(vec![step("feed", json!({})), step("gone", json!("{steps.4.data}"))]).unwrap_err();
    assert_eq!(wrong.len(), 3, "{wrong:#?}");
    assert!(wrong[0].starts_with("step 0: \"feed\" is of a type that is no step"), "{wrong:#?}");
    assert!(made(vec![]).is_err());
    let eleven = (0..11).map(|_| step("search", json!({}))).collect();
    assert!(made(eleven).unwrap_err()[0].contains("comes to 11 steps in all"));
}

#[test]
fn a_whole_is_as_personal_as_its_steps_say() {
    let text = |own: &str, step: &str| {
        capability("x", &format!("privacy = {{ {step} }}"))
            + &by_recipe("whole", "r", own)
            + &recipe("r", "{ capability = 'x' }")
    };
    for own in ["", "data_sensitivity = 'public'"] {
        for step in
            ["data_categories = ['invoice']", "personal_data_required = ['name']", "personal_data_included = true"]
        {
            let text = text(own, step);
            assert!(of(&settings(&text), "whole").is_sensitive(), "{text}");
            assert_eq!(published(&text, "whole")["data_sensitivity"], "personal", "{text}");
        }
    }
    assert!(!of(&settings(&text("", "purpose = 'x'")), "whole").is_sensitive());
}
