//! Plain texts parse to the same value as with serde_json: fixed cases and random texts.

use super::*;
use proptest::prelude::*;
use serde_json::Value;

fn passed(json: &str) -> Option<String> {
    text(json.as_bytes()).map(|text| String::from_utf8(text.into_owned()).unwrap())
}

#[test]
fn what_is_plain_is_passed_on_as_it_came() {
    for json in [
        "{}",
        "[]",
        "\"\"",
        "0",
        "-0.5",
        "12345678901234567",
        "[true,false,null]",
        r#"{"b":{"a":1},"a":[{"a":"ü 日本 \"\\\b\f\n\r\t"}],"":129.50}"#,
    ] {
        assert!(matches!(text(json.as_bytes()), Some(Cow::Borrowed(_))), "{json}");
    }
}

#[test]
fn blanks_and_idle_escapes_are_left_out() {
    assert_eq!(passed(" { \"a b\" : [ 1 ,\t2 ] ,\r\n\"c\":\" d \" } ").unwrap(), r#"{"a b":[1,2],"c":" d "}"#);
    assert_eq!(passed(r#"["\/\u00e9\u2028\\u0041\"","\u0041"]"#).unwrap(), "[\"/é\u{2028}\\\\u0041\\\"\",\"A\"]");
}

#[test]
fn what_is_doubtful_is_not_judged() {
    for json in [
        "",
        " ",
        "{",
        "[",
        "\"",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "[1,]",
        "{\"a\":1,}",
        "[1 2]",
        "{} {}",
        "tru",
        "nulll",
        "01",
        "-",
        "1.",
        ".5",
        "+1",
        "1e5",
        "123456789012345678",
        "\"\n\"",
        "\"\u{0}\"",
        r#""\x""#,
        r#""\u12""#,
        r#""\u+123""#,
        r#""\ud83d\ude00""#,
        r#""\u0000""#,
        r#""\u0022""#,
        r#"{"a":1,"a":2}"#,
        r#"{"\u0061":1}"#,
    ] {
        assert_eq!(passed(json), None, "{json}");
    }
    assert!(text(b"\"\xff\"").is_none());
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(passed(&nested(DEEPEST)).is_some() && passed(&nested(DEEPEST + 1)).is_none());
    let members = |n: usize| format!("{{{}}}", (0..n).map(|n| format!("\"{n}\":1")).collect::<Vec<_>>().join(","));
    assert!(passed(&members(MOST_MEMBERS)).is_some() && passed(&members(MOST_MEMBERS + 1)).is_none());
    let both = |more| format!("[{},{}]", members(MOST_MEMBERS), members(MOST_MEMBERS + more));
    assert!(passed(&both(0)).is_some() && passed(&both(1)).is_none(), "alike, and one more");
}

#[test]
fn items_with_more_values_than_are_known() {
    let item = |last: &str| format!("{{\"a\":[{}{last}]}}", "0,".repeat(MOST_KNOWN));
    let passed = |last: &str| passed(&format!("[{},{},{}]", item("1"), item("1"), item(last))).is_some();
    assert_eq!(
        ["1", "2", "\"x\"", "{\"a\":1}", "01", "{\"a\":1,\"a\":1}"].map(passed),
        [true, true, true, true, false, false]
    );
}

/// Values, and texts that resemble them.
fn values() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "1",
        "12",
        "-1",
        "1.5",
        "1.",
        "01",
        "1e5",
        "123456789012345678",
        "true",
        "tru",
        "null",
        "\"\"",
        "\"a\"",
        "\"ab\"",
        "\"a long one of these\"",
        "\"a long one of those\"",
        "\"a\\\"\"",
        "\"a\\/b\"",
        "\"\n\"",
        "\"a\\\\\"",
        "\"é\"",
        "{\"a\":1}",
        "{\"a\":2}",
        "[{\"b\":1}]",
        "[{\"b\":1},{\"b\":2}]",
        "[1,2]",
        "[1,22]",
        "[]",
        "{}",
        " 1",
        "1 ",
    ])
}

/// Objects whose members have few names.
fn of_few_names() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "aa", "eight888", "eight88", "eight8889", "eight8880", ""]);
    written(prop::collection::vec((name, values()), 0..5))
}

fn written(members: impl Strategy<Value = Vec<(&'static str, &'static str)>>) -> impl Strategy<Value = String> {
    members.prop_map(|all| {
        format!("{{{}}}", all.iter().map(|(n, v)| format!("\"{n}\":{v}")).collect::<Vec<_>>().join(","))
    })
}

/// Lists of objects of the same names.
fn of_same_names() -> impl Strategy<Value = Vec<String>> {
    let object = || written((values(), values(), values()).prop_map(|(a, b, c)| vec![("a", a), ("bb", b), ("", c)]));
    let nested = object().prop_map(|inner| format!("[{inner},{inner}]"));
    prop::collection::vec(prop_oneof![6 => object(), 1 => nested], 1..6)
}

/// Lists of nearly equal objects.
fn of_like_members() -> impl Strategy<Value = Vec<String>> {
    let nested = of_few_names().prop_map(|inner| format!("[{inner},{inner}]"));
    let object = prop_oneof![4 => of_few_names(), 1 => nested];
    (prop::collection::vec(object, 1..4), prop::collection::vec(any::<prop::sample::Index>(), 1..8))
        .prop_map(|(objects, order)| order.iter().map(|index| index.get(&objects).clone()).collect())
}

/// Texts that are nearly JSON.
fn nearly_json() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"", "\\", "\\u00e9", "\\/", "\\n", "1", "-", "0", ".", "e5",
        "true", "null", " ", "\n", "é", "\u{1}", "x",
    ]);
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,9}", inner, 0..6).prop_map(|m| m.into_iter().collect()),
        ]
    })
}

fn members(value: &Value) -> usize {
    match value {
        Value::Object(all) => all.len() + all.values().map(members).sum::<usize>(),
        Value::Array(items) => items.iter().map(members).sum(),
        _ => 0,
    }
}

fn agrees(json: &str) -> Result<(), TestCaseError> {
    let Some(plain) = passed(json) else { return Ok(()) };
    let theirs: Value = serde_json::from_str(json).map_err(|e| TestCaseError::fail(format!("{json}: {e}")))?;
    let ours: Value = serde_json::from_str(&plain).map_err(|e| TestCaseError::fail(format!("{plain}: {e}")))?;
    prop_assert_eq!(&ours, &theirs);
    // Nothing removable is left, so there is no line break either.
    prop_assert_eq!(passed(&plain), Some(plain.clone()));
    prop_assert!(!plain.contains('\n'));
    let (mut colons, mut quoted, mut bytes) = (0, false, plain.bytes());
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' => drop(bytes.next()),
            b':' if !quoted => colons += 1,
            _ => {}
        }
    }
    prop_assert_eq!(colons, members(&ours), "no member is there twice");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_passed_on_says_what_the_library_reads(json in nearly_json()) {
        agrees(&json)?;
    }

    #[test]
    fn no_name_is_passed_on_twice(json in of_few_names()) {
        agrees(&json)?;
    }

    #[test]
    fn no_name_is_passed_on_twice_where_objects_are_alike(items in of_like_members()) {
        let json = format!("[{}]", items.join(","));
        agrees(&json)?;
        // An item that is plain by itself is plain in a list.
        prop_assert_eq!(passed(&json).is_some(), items.iter().all(|item| passed(item).is_some()));
    }

    #[test]
    fn items_are_read_by_their_likeness_as_by_themselves(items in of_same_names()) {
        let json = format!("[{}]", items.join(","));
        agrees(&json)?;
        prop_assert_eq!(passed(&json).is_some(), items.iter().all(|item| passed(item).is_some()));
    }

    #[test]
    fn values_are_passed_on_whole(value in json()) {
        agrees(&value.to_string())?;
        agrees(&serde_json::to_string_pretty(&value).unwrap())?;
    }

    #[test]
    fn marks_are_found_where_they_are(text in "[a-z\"\\\\\u{1}é\u{ff}]{0,40}") {
        let first = text.bytes().position(|b| matches!(b, b'"' | b'\\' | 0..b' ')).unwrap_or(text.len());
        prop_assert_eq!(unmarked(text.as_bytes()), first);
    }
}
