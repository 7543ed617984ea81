//! What holds of a question that comes as a body, whatever is in it: it is read if and only if it is JSON that means one
//! thing and every field has the type and the length that the published schema gives it; and neither spaces, nor the
//! order of members, nor unknown members make another question of it. One list, for the fuzzer and for the tests.

use serde_json::{Map, Value, json};

use super::{
    dice::Dice,
    exact_numbers::{ROUNDED, is_exact},
    question::Question,
    strict,
};

/// The texts of a question and of its context, and how many characters each may have (AHP §6.1).
const TEXTS: [(&str, usize); 6] = [
    ("ahp", 16),
    ("capability", 4096),
    ("query", 4096),
    ("session_id", 128),
    ("clarification", 1024),
    ("confirmation", 1024),
];
const CONTEXT: [(&str, usize); 5] =
    [("requesting_agent", 128), ("user_intent", 256), ("callback_url", 2048), ("locale", 64), ("idempotency_key", 255)];

/// Panics where one of them does not hold. The first byte says whether the rest is a body, or what chooses its members.
pub fn hold(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    match choice % 2 {
        0 => any(rest),
        _ => any(Value::from(written(&mut Dice(rest))).to_string().as_bytes()),
    }
}

/// A body, mostly a good one.
fn written(dice: &mut Dice) -> Map<String, Value> {
    let mut body = Map::new();
    for (name, most) in TEXTS {
        if dice.yes() {
            body.insert(name.to_owned(), value(dice, name, most));
        }
    }
    if dice.yes() {
        body.insert(
            "input".to_owned(),
            dice.of(&[json!({}), json!({ "a": [1.5, null] }), Value::Null, json!([])].each_ref()).clone(),
        );
    }
    if dice.yes() {
        let mut context = Map::new();
        for (name, most) in CONTEXT {
            if dice.yes() {
                context.insert(name.to_owned(), value(dice, name, most));
            }
        }
        let tokens = [json!(1), json!(0), json!(32_768), json!(32_769), json!(-1), json!(1.0), json!("1"), Value::Null];
        let types = [
            json!([]),
            json!(["text/answer"]),
            json!(vec!["a"; 64]),
            json!(vec!["a"; 65]),
            json!([5]),
            json!("a"),
            Value::Null,
        ];
        if dice.yes() {
            context.insert("max_tokens".to_owned(), dice.of(&tokens.each_ref()).clone());
        }
        if dice.yes() {
            context.insert("accept_types".to_owned(), dice.of(&types.each_ref()).clone());
        }
        body.insert("context".to_owned(), dice.of(&[&Value::from(context), &Value::Null, &json!("x")]).clone());
    }
    body
}

fn value(dice: &mut Dice, name: &str, most: usize) -> Value {
    match dice.below(10) {
        0 => Value::Null,
        1 => json!(5),
        2 => "\u{1f980}".repeat(most).into(),
        3 => "ä".repeat(most + 1).into(),
        4 => " \t".into(),
        5 => "".into(),
        _ if name == "ahp" => dice.of(&["0.1", "9.9", "1", "0.1.0", "a.b", ".", "٣.1"]).into(),
        _ => dice.of(&["flights.search", "What is new?", "\"\\\u{0}\u{2028}"]).into(),
    }
}

fn any(body: &[u8]) {
    let plain: Result<Value, _> = serde_json::from_slice(body);
    let members = match (strict::object(body), &plain) {
        (Ok(members), Ok(plain)) => {
            assert_eq!(&Value::from(members.clone()), plain);
            assert_eq!(colons(body), count(plain), "every member is there");
            members
        }
        (Ok(_), Err(e)) => panic!("{e}: {}", String::from_utf8_lossy(body)),
        (Err(why), Ok(plain)) => {
            assert!(!plain.is_object() || colons(body) != count(plain) || !is_exact(body), "{why}: {plain}");
            return;
        }
        (Err(why), Err(_)) => {
            assert!((why.contains("line ") || why == ROUNDED) && why.is_ascii(), "{why}");
            return;
        }
    };
    let outcome = read(members.clone(), None);
    judge(&members, &outcome);
    // The same in another way.
    let reversed: Vec<String> = members.iter().rev().map(|(k, v)| format!("{} : {v:#}", json!(k))).collect();
    let reversed = format!("\r\n {{ {} }}\t", reversed.join(" , "));
    assert_eq!(read(strict::object(reversed.as_bytes()).expect("the same object"), None), outcome);
    let mut more = members.clone();
    more.insert("unknown member".to_owned(), json!({ "query": 5 }));
    assert_eq!(read(more, None), outcome);
    // What is named elsewhere is what is asked.
    if outcome.is_ok() {
        let mut named = members;
        named.insert("capability".to_owned(), "elsewhere".into());
        assert_eq!(read(named.clone(), None), read(named, Some("elsewhere")));
    }
}

/// The question as text, or what the refusal is called.
fn read(members: Map<String, Value>, capability: Option<&str>) -> Result<String, String> {
    match Question::read(members, capability) {
        Ok(question) => Ok(format!("{question:?}")),
        Err(wrong) => Err(wrong.code().to_owned()),
    }
}

/// By the rules as a table.
fn judge(members: &Map<String, Value>, outcome: &Result<String, String>) {
    let null = Value::Null;
    let of = |map: &Map<String, Value>, name: &str| map.get(name).unwrap_or(&null).clone();
    let fits =
        |value: &Value, most: usize| value.is_null() || value.as_str().is_some_and(|text| text.chars().count() <= most);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut wrong = TEXTS.iter().any(|(name, most)| !fits(&of(members, name), *most));
    if let Value::String(version) = of(members, "ahp") {
        let parts: Vec<&str> = version.split('.').collect();
        wrong |= parts.len() != 2 || !parts.into_iter().all(digits);
    }
    wrong |= of(members, "query").as_str().is_some_and(|query| query.trim().is_empty());
    wrong |= !matches!(of(members, "input"), Value::Null | Value::Object(_));
    match of(members, "context") {
        Value::Null => {}
        Value::Object(context) => {
            wrong |= CONTEXT.iter().any(|(name, most)| !fits(&of(&context, name), *most));
            let tokens = of(&context, "max_tokens");
            // A whole number, however it is written.
            let whole = |number: f64| number.fract() == 0.0 && (1.0..=32_768.0).contains(&number);
            wrong |= !tokens.is_null() && !tokens.as_f64().is_some_and(whole);
            let types = of(&context, "accept_types");
            let listed = types.as_array().is_some_and(|types| types.len() <= 64 && types.iter().all(Value::is_string));
            wrong |= !types.is_null() && !listed;
        }
        _ => wrong = true,
    }
    let missing =
        of(members, "capability").is_null() || of(members, "query").is_null() && of(members, "input").is_null();
    match outcome {
        Ok(_) => assert!(!wrong && !missing, "{members:?}"),
        Err(code) if code == "missing_field" => assert!(missing, "{members:?}"),
        Err(code) => assert!(code == "invalid_request" && wrong, "{code}: {members:?}"),
    }
}

/// Members that are written, in all objects.
fn colons(body: &[u8]) -> usize {
    let (mut within, mut escaped, mut colons) = (false, false, 0);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => within = !within,
            b':' if !within => colons += 1,
            _ => {}
        }
    }
    colons
}

/// Members that are there, in all objects.
fn count(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.len() + members.values().map(count).sum::<usize>(),
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 0,
    }
}
