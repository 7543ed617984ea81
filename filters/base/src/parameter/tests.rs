//! The table of styles in the OpenAPI specification, with its own values.

use serde_json::json;

use super::*;

fn query(style: &str, explode: bool, value: &Value) -> String {
    let mut out = String::new();
    Style::named(style, Some(explode)).unwrap().write_pairs(&mut out, "color", value).unwrap();
    out
}

fn path(style: &str, explode: bool, value: &Value) -> String {
    Style::named(style, Some(explode)).unwrap().in_path("color", value).unwrap()
}

#[test]
fn styles_of_a_query_are_those_of_the_table() {
    let (one, list, object) = (json!("blue"), json!(["blue", "black"]), json!({ "B": 150, "R": 100 }));
    for (style, explode, of_one, of_list, of_object) in [
        ("form", true, "color=blue", "color=blue&color=black", "B=150&R=100"),
        ("form", false, "color=blue", "color=blue,black", "color=B,150,R,100"),
        ("spaceDelimited", false, "color=blue", "color=blue%20black", "color=B%20150%20R%20100"),
        ("pipeDelimited", false, "color=blue", "color=blue%7Cblack", "color=B%7C150%7CR%7C100"),
        ("pipeDelimited", true, "color=blue", "color=blue&color=black", "B=150&R=100"),
        ("deepObject", true, "color=blue", "color%5B0%5D=blue&color%5B1%5D=black", "color%5BB%5D=150&color%5BR%5D=100"),
        (
            "json",
            false,
            "color=%22blue%22",
            "color=%5B%22blue%22%2C%22black%22%5D",
            "color=%7B%22B%22%3A150%2C%22R%22%3A100%7D",
        ),
    ] {
        let written = [&one, &list, &object].map(|value| query(style, explode, value));
        assert_eq!(written, [of_one, of_list, of_object], "{style} {explode}");
    }
}

#[test]
fn styles_of_a_path_are_those_of_the_table() {
    let (one, list, object) = (json!("blue"), json!(["blue", "black"]), json!({ "B": 150, "R": 100 }));
    for (style, explode, of_one, of_list, of_object) in [
        ("simple", false, "blue", "blue,black", "B,150,R,100"),
        ("simple", true, "blue", "blue,black", "B=150,R=100"),
        ("label", false, ".blue", ".blue,black", ".B,150,R,100"),
        ("label", true, ".blue", ".blue.black", ".B=150.R=100"),
        ("matrix", false, ";color=blue", ";color=blue,black", ";color=B,150,R,100"),
        ("matrix", true, ";color=blue", ";color=blue;color=black", ";B=150;R=100"),
    ] {
        let written = [&one, &list, &object].map(|value| path(style, explode, value));
        assert_eq!(written, [of_one, of_list, of_object], "{style} {explode}");
    }
}

#[test]
fn delimiters_in_a_value_are_encoded_and_nothing_leaves_its_place() {
    assert_eq!(query("form", false, &json!(["a,b", "c&d=e"])), "color=a%2Cb,c%26d%3De");
    assert_eq!(query("pipeDelimited", false, &json!(["a|b", "c"])), "color=a%7Cb%7Cc");
    assert_eq!(query("form", false, &json!([])), "");
    assert_eq!(query("deepObject", true, &json!({ "a": { "b": [1, null] } })), "color%5Ba%5D%5Bb%5D%5B0%5D=1");
    let mut out = "/x?".to_owned();
    let deep = Style::named("deepObject", None).unwrap();
    assert!(deep.write_pairs(&mut out, "c", &json!({ "a][b": 1 })).is_err());
    for wrong in [json!([]), json!(["a", "b/c"]), json!([".."]), json!({ "..": 1 }), json!("")] {
        assert!(Style::named("simple", None).unwrap().in_path("c", &wrong).is_err(), "{wrong}");
    }
    assert_eq!(path("simple", false, &json!(["a,b", "c"])), "a%2Cb,c");
    let spread = Style::named("form", None).unwrap();
    assert_eq!(spread.spreads(&json!({ "x": 1 })).collect::<Vec<_>>(), ["x"]);
    assert_eq!(deep.spreads(&json!({ "x": 1 })).count(), 0);
}

#[test]
fn headers_are_simple() {
    let simple = |explode| Style::named("simple", Some(explode)).unwrap();
    assert_eq!(simple(false).in_header(&json!(["a", 1])).unwrap(), "a,1");
    assert_eq!(simple(false).in_header(&json!({ "a": 1 })).unwrap(), "a,1");
    assert_eq!(simple(true).in_header(&json!({ "a": 1 })).unwrap(), "a=1");
    assert_eq!(simple(true).in_header(&Value::Null), None);
    assert!(Style::named("fancy", None).is_none());
}
