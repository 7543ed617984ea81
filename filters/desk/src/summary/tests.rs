//! What a summary shows, and what no value and no template can make it show.

use super::*;
use serde_json::{Map, json};

fn summary(template: Option<&str>) -> Summary {
    let template = template.map(Marked::new);
    Summary { template, known: Known::default(), description: "Hold a fare".into(), consent: String::new() }
}

#[test]
fn values_say_nothing_but_themselves() {
    let say = |value: Value| summary(Some("Hold {{ input.x }} now")).say(&json!({ "x": value }));
    assert_eq!(say(json!("fare_1")), "Hold \"fare_1\" now");
    assert_eq!(say(json!(682)), "Hold 682 now");
    let hostile = json!("a\" and pay \"b\n\u{202e}c\u{200b}");
    assert_eq!(say(hostile), r#"Hold "a\" and pay \"b\n\u{202e}c\u{200b}" now"#);
    assert_eq!(say(json!("x".repeat(200))), format!("Hold \"{}…\" now", "x".repeat(120)));
    assert_eq!(say(json!("{{ input }}{% if %}")), "Hold \"{{ input }}{% if %}\" now");
    assert_eq!(say(json!(["a\u{202e}"])), r#"Hold "['a\u{202e}']" now"#);
}

/// A token is for one input: two of them must not look like the same one to the person who confirms.
#[test]
fn what_differs_is_shown_apart() {
    let nowhere = summary(None);
    let template = summary(Some("Hold {{ input.x }}"));
    for all in [
        vec![
            (json!("ab"), r"ab"),
            (json!("a\nb"), r"a\nb"),
            (json!("a\u{202e}b"), r"a\u{202e}b"),
            (json!("a\u{200b}b"), r"a\u{200b}b"),
            (json!("a\u{e000}b"), r"a\u{e000}b"),
            (json!(r"a\nb"), r"a\\nb"),
            (json!(r"a\u{202e}b"), r"a\\u{202e}b"),
            (json!("a\\\nb"), r"a\\\nb"),
            (json!("a\"b"), r#"a\"b"#),
            (json!("a'b"), r"a'b"),
            (json!("a b"), r"a b"),
            (json!("a\u{a0}b"), r"a\u{a0}b"),
            (json!("a\u{201d} b"), r"a\u{201d} b"),
        ],
        vec![
            (json!(["ab"]), r"['ab']"),
            (json!(["a\"b"]), r#"['a\"b']"#),
            (json!(["a'b"]), r"['a\'b']"),
            (json!(["a\\\"b"]), r#"['a\\\"b']"#),
            (json!(["a\nb"]), r"['a\nb']"),
            (json!(["a\u{202e}b"]), r"['a\u{202e}b']"),
            (json!(["a\u{7f}b"]), r"['a\u{7f}b']"),
            (json!(["a\u{e000}b"]), r"['a\u{e000}b']"),
            (json!([r"a\nb"]), r"['a\\nb']"),
            (json!(["a", "b"]), r"['a','b']"),
            (json!(["a','b"]), r"['a\',\'b']"),
        ],
    ] {
        for (value, shown) in all {
            let input = json!({ "x": value });
            assert_eq!(template.say(&input), format!("Hold \"{shown}\""));
            assert_eq!(nowhere.say(&input), format!("Hold a fare; \"x\": \"{shown}\"."));
        }
    }
    let named = |name: &str| nowhere.say(&json!({ name: 1 }));
    assert_eq!(named("a\u{200b}b"), r#"Hold a fare; "a\u{200b}b": "1"."#);
    assert_eq!(named(r"a\u{200b}b"), r#"Hold a fare; "a\\u{200b}b": "1"."#);
    // Cut before an escape that does not fit, not within it.
    let long = json!({ "x": format!("{}\u{202e}", "x".repeat(115)) });
    assert_eq!(template.say(&long), format!("Hold \"{}…\"", "x".repeat(115)));
    let full = json!({ "x": "\u{202e}".repeat(15) });
    assert_eq!(template.say(&full), format!("Hold \"{}\"", r"\u{202e}".repeat(15)));
}

#[test]
fn what_a_template_lacks_is_listed() {
    let input = json!({ "fare_id": "f", "n": 2 });
    assert_eq!(summary(Some("Pay {{ input.amount }}")).say(&input), "Hold a fare; \"fare_id\": \"f\", \"n\": \"2\".");
    assert_eq!(summary(None).say(&json!({})), "Hold a fare.");
    let many: Map<String, Value> = (0..20).map(|n| (format!("k{n}"), json!(n))).collect();
    assert!(summary(None).say(&Value::Object(many)).ends_with(" and 8 more that are not shown."));
    let endless = "{% for a in range(10000) %}{% for b in range(10000) %}{{ a }}{% endfor %}{% endfor %}";
    assert_eq!(summary(Some(endless)).say(&json!({})), "Hold a fare.");
}

#[test]
fn nothing_is_confirmed_unseen_and_nothing_crowds_out_the_rest() {
    let mut summary = summary(Some("Hold {{ input.x }}"));
    summary.known = Known::by(&json!({ "properties": { "y": {} } }));
    summary.consent = " Purpose: travel.".into();
    let input = json!({ "x": "f", "y": "known", ". Nothing is charged": 1 });
    let expected = "Hold \"f\" Also sent: \". Nothing is charged\": \"1\". Purpose: travel.";
    assert_eq!(summary.say(&input), expected);
    let flood: Map<String, Value> =
        (0..12).map(|n| (format!("{n}{}", "k".repeat(500)), json!("v".repeat(500)))).collect();
    let said = summary.say(&Value::Object(flood));
    assert!(said.ends_with(" Purpose: travel.") && said.chars().count() <= LONGEST, "{said}");
    let marks = format!("a{}b", "\u{336}".repeat(50));
    let piled = format!("Hold \"a\u{336}\u{336}{}…\" Purpose: travel.", r"\u{336}".repeat(16));
    assert_eq!(summary.say(&json!({ "x": marks })), piled);
    assert_eq!(summary.say(&json!({ "x": 1e300 })).len(), "Hold \"\" Purpose: travel.".len() + 120 + '…'.len_utf8());
}

#[test]
fn what_a_step_will_say_is_told_from_what_somebody_sends() {
    let of_step = summary(Some("Hold {{ input.x }} for {{ input.y }}"));
    let mark = from_step("1.0");
    let input = json!({ "x": mark, "y": format!("trip {mark}"), "z": [mark] });
    let expected = "Hold from step 1.0 for \"trip from step 1.0\" Also sent: \"z\": \"['from step 1.0']\".";
    assert_eq!(of_step.briefly(&input), expected);
    let plain = summary(Some("Hold {{ input.x }}"));
    assert_eq!(plain.say(&json!({ "x": mark })), r#"Hold "\u{e000}from step 1.0\u{e001}""#);
    assert_eq!(
        plain.say(&json!({ "x": "\u{e000}from step 1\u{e001}", "\u{e001}k": 1 })),
        r#"Hold "\u{e000}from step 1\u{e001}" Also sent: "\u{e001}k": "1"."#
    );
    let between = json!({ "x": format!("{mark}, nothing is charged, {mark}") });
    assert_eq!(plain.briefly(&between), "Hold \"from step 1.0, nothing is charged, from step 1.0\"");
    let long = json!({ "x": "v".repeat(500), "k": "v".repeat(500), "l": "v".repeat(500), "m": "v".repeat(500) });
    let long = (0..9).fold(long, |mut all, n| {
        all[format!("{n}")] = "v".repeat(200).into();
        all
    });
    let mut all = summary(None);
    all.consent = format!(" Purpose: {}.", "p".repeat(700));
    let said = all.briefly(&long);
    assert!(said.ends_with("p.") && said.chars().count() == LONGEST_STEP + all.consent.len(), "{said}");
}

#[test]
fn what_nobody_foresaw_within_an_object_is_listed() {
    let mut paid = summary(Some("Pay {{ input.amount }} to {{ input.payee.name }}"));
    let input = json!({ "amount": 5, "payee": { "name": "Bob", "iban": "X", "bank": { "a": 1 } }, "payee.name": 1 });
    let expected =
        "Pay 5 to \"Bob\" Also sent: \"payee.bank\": \"{'a':1}\", \"payee.iban\": \"X\", \"payee.name\": \"1\".";
    assert_eq!(paid.say(&input), expected);
    paid.known = Known::by(
        &json!({ "properties": { "payee": { "properties": { "iban": {}, "bank": { "type": "object" } } }, "b": {} } }),
    );
    let expected = "Pay 5 to \"Bob\" Also sent: \"payee.bank.a\": \"1\", \"payee.name\": \"1\".";
    assert_eq!(paid.say(&input), expected);
    let whole = summary(Some("Pay {{ input.payee }}"));
    assert_eq!(whole.say(&json!({ "payee": { "x": 1 } })), "Pay \"{'x':1}\"");
}

#[test]
fn what_a_schema_names_within_its_parts_is_known_and_the_rest_is_listed() {
    let object = json!({ "type": "object", "properties": { "k": {} } });
    let said = |schema: Value, input: Value| {
        let order = Summary { known: Known::by(&schema), ..summary(Some("Order")) };
        order.say(&input)
    };
    let items = json!({ "properties": { "items": { "type": "array", "items": { "properties": { "sku": {} } } } } });
    let sent = json!({ "items": [{ "sku": "a" }, { "sku": "b", "gift_to": "evil", "qty": 1000 }] });
    let expected = r#"Order Also sent: "items.1.gift_to": "evil", "items.1.qty": "1000"."#;
    assert_eq!(said(items, sent), expected);
    for part in ["anyOf", "oneOf", "allOf"] {
        let schema = json!({ "properties": { "o": { part: [object, { "type": "null" }] } } });
        let sent = json!({ "o": { "k": "v", "z": "hidden" } });
        assert_eq!(said(schema.clone(), sent), r#"Order Also sent: "o.z": "hidden"."#, "{part}");
        assert_eq!(said(schema, json!({ "o": { "k": "v" } })), "Order", "{part}");
    }
    let names = json!({ "properties": { "names": { "type": "array" } } });
    assert_eq!(said(names.clone(), json!({ "names": ["a", "b"] })), "Order");
    assert_eq!(said(names, json!({ "names": [{ "a": 1 }] })), r#"Order Also sent: "names.0.a": "1"."#);
    let deep = |leaf: Value| (0..20).fold(leaf, |inner, _| json!({ "o": inner }));
    let schema = (0..20).fold(json!({}), |inner, _| json!({ "properties": { "o": inner } }));
    assert!(said(schema, deep(json!(1))).contains("'o':1"), "what is too deep to be known");
}

#[test]
fn what_a_template_looks_at_without_showing_it_is_listed() {
    let say = |template: &str, input: Value| summary(Some(template)).say(&input);
    let sent = json!({ "o": [{ "sku": "a", "gift_to": "evil" }] });
    let listed = |said: &str| format!(r#"{said} Also sent: "o": "[{{'gift_to':'evil','sku':'a'}}]"."#);
    for (template, said) in [
        ("{% if input.o %}Order{% endif %}", "Order"),
        ("Order {{ input.o | length }}", "Order 1"),
        ("Order{% for i in input.o %} {{ i.sku }}{% endfor %}", "Order \"a\""),
        ("{% raw %}{{ input.o }}{% endraw %}", "{{ input.o }}"),
        ("{% if not input.o %}{{ input.o }}{% endif %}Order", "Order"),
    ] {
        assert_eq!(say(template, sent.clone()), listed(said), "{template}");
    }
    let first = r#"Order "a" Also sent: "o.0.gift_to": "evil"."#;
    assert_eq!(say("Order {{ input.o[0].sku }}", sent.clone()), first);
    assert_eq!(say("Order {{- input.o -}} !", sent), r#"Order"[{'gift_to':'evil','sku':'a'}]"!"#);
}

#[test]
fn what_was_left_out_can_be_asked_for_and_not_shown() {
    let say = |template: &str, input: Value| summary(Some(template)).say(&input);
    let optional = "Pay{% if input.note %} ({{ input.note }}){% endif %}";
    assert_eq!(say(optional, json!({})), "Pay");
    assert_eq!(say(optional, json!({ "note": "x" })), r#"Pay ("x")"#);
    assert_eq!(say(optional, json!({ "note": "" })), r#"Pay Also sent: "note": ""."#);
    assert_eq!(say("Pay {{ input.note }}", json!({ "a": 1 })), r#"Hold a fare; "a": "1"."#);
}

#[test]
fn what_is_cut_says_so() {
    let long = summary(Some(&"x".repeat(3000))).say(&json!({ "hidden": 1 }));
    assert!(long.ends_with("x…") && long.chars().count() == LONGEST, "{long}");
}

#[test]
fn nobody_is_told_that_nothing_is_shared_where_something_is() {
    let consent = |privacy: &str, more: &str| {
        let text = format!(
            "[upstream]\nurl = 'http://127.0.0.1:1'\n{more}\n[[capabilities]]\nid = 'x'\ntype = 'query'\nendpoint = '/x'\n\
             risk_level = 'low'\nprivacy = {{ requires_explicit_consent = true, {privacy} }}\n"
        );
        let declared = frontdesk_config::testing::declare_text(
            std::path::Path::new("/x.toml"),
            &text,
            &frontdesk_config::testing::Nowhere,
        );
        let settings = declared.unwrap().settings;
        Summary::of(&settings.capabilities[0], &settings).say(&json!({}))
    };
    let shared = |said: &str, with: &str| assert!(said.ends_with(&format!(" Shared with: {with}.")), "{said}");
    shared(&consent("third_party_sharing = false", ""), "nobody else, as far as declared");
    shared(&consent("third_party_sharing = []", ""), "nobody else, as far as declared");
    shared(&consent("third_party_sharing = ['airline']", ""), "airline");
    shared(&consent("third_party_sharing = true", ""), "others, who are not named");
    shared(&consent("purpose = 'p'", "[privacy.roles]\nthird_party_sharing = true"), "others, who are not named");
}
