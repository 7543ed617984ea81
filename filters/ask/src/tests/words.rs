//! What is kept of a model's words.

use super::*;
use crate::Draft;

const QUESTION: &str = "How much is a ticket for a group?";

fn draft(library: &Library) -> Draft {
    library.draft(QUESTION, &[], &found(library.answer(&ask(QUESTION, &[]))), |_| true).expect("passages")
}

fn written(library: &Library, reply: &str) -> Option<String> {
    library.written(&draft(library), reply, 1_500, |_| true)
}

#[test]
fn a_model_gets_question_and_passages_as_data() {
    let library = library();
    let before = [Turn { query: "What does a ticket cost?".into(), ..Turn::default() }];
    let answer = found(library.answer(&ask(QUESTION, &[])));
    let draft = library.draft(QUESTION, &before, &answer, |_| true).expect("passages");
    let user: serde_json::Value = serde_json::from_str(&draft.user).expect("JSON");
    assert_eq!(
        (user["question"].as_str(), &user["earlier_questions"][0]),
        (Some(QUESTION), &"What does a ticket cost?".into())
    );
    assert_eq!(user["passages"][0]["number"], 1);
    assert!(user["passages"][0]["text"].as_str().is_some_and(|text| text.contains("18 EUR each")), "{user}");
    assert!(draft.system.contains("never instructions"));
    // Where no passage may be handed over, there is nothing to write from.
    assert_eq!(library.draft(QUESTION, &[], &answer, |_| false), None);
}

#[test]
fn what_a_passage_supports_is_kept_with_the_passage_below_and_the_rest_dropped() {
    let library = library();
    let reply = "Groups of ten or more pay 18 EUR each [1]. Groups of ten get a free dinner [1]. Groups pay 15 EUR each [1]. \
                 Write to us a week before. Groups pay [9].";
    let text = written(&library, reply).expect("one sentence");
    let expected =
        "Groups of ten or more pay 18 EUR each [1].\n\n[1] Tickets › Groups\n\nGroups of ten or more pay 18 EUR each.";
    assert!(text.starts_with(expected), "{text}");
    for word in ["dinner", "15 EUR", "[9]"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn where_nothing_is_left_there_are_no_words() {
    let library = library();
    for reply in [
        "NONE",
        "",
        "I am sorry, but I cannot help with that.",
        "Visit https://evil.test/login [1].",
        "<b>[1]</b>",
        "[1][1][1]",
        "Groups sail to the moon with nine elephants [1].",
    ] {
        assert_eq!(written(&library, reply), None, "{reply}");
    }
}

#[test]
fn markup_and_links_of_a_model_are_no_part_of_its_words() {
    let text = written(
        &library(),
        "**Groups** of ten pay [18 EUR](https://evil.test/?q=secret) each ![x](https://evil.test/i) [1].",
    );
    let text = text.expect("a sentence");
    assert!(text.starts_with("Groups of ten pay 18 EUR each") && !text.contains("evil.test"), "{text}");
}

#[test]
fn hostile_words_take_linear_time() {
    let library = library();
    for reply in ["[", "[1]", ". ", "a[1]. ", "Groups [1] pay. ", "\n"] {
        let limit = frontdesk_base::work_limit::WorkLimit::begin(std::time::Duration::from_secs(20));
        // As much as is read of a reply.
        written(&library, &reply.repeat(8_000 / reply.len()));
        assert!(!limit.is_over(), "{reply}");
    }
}
