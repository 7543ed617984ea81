//! Questions that lean on the turns before: "and for groups?", "what does it cost?", "what did I just ask?".
//!
//! Nothing is guessed about grammar. A question leans if it begins like a continuation, points at something with a
//! small word, or says nothing of its own; then what was asked before counts for it too, the nearer the more. A question
//! about the session itself is answered from the session.

use tantivy::tokenizer::Language;

use super::{Answer, Relevance, Source, Turn, languages, plain, question::Part};

/// Turns that a question can lean on.
const REACH: usize = 4;
/// Of a question, how much is looked at to see what kind it is, in bytes.
const LOOKED_AT: usize = 400;

const BEGINNINGS: &[&str] = &[
    "and ",
    "or ",
    "but ",
    "also ",
    "then ",
    "what about",
    "how about",
    "und ",
    "oder ",
    "aber ",
    "wie ist es mit",
    "was ist mit",
    "et ",
    "mais ",
    "y ",
    "pero ",
    "ma ",
    "en ",
    "maar ",
];
const POINTING: &[&str] = &[
    "it", "its", "it's", "that", "that's", "this", "they", "them", "their", "those", "these", "ones", "same", "dort",
    "dafür", "davon", "dazu", "damit",
];
const SITE: &[&str] = &["site", "website", "page", "company", "manual", "documentation"];
const OWN_WORDS: &[&str] = &[
    "did i just ask",
    "did i ask",
    "i just ask",
    "i just asked",
    "have i asked",
    "was i asking",
    "i asked about",
    "i asked you",
    "did i say",
    "my last question",
    "my previous question",
    "my first question",
    "my earlier question",
    "habe ich gefragt",
    "habe ich gerade gefragt",
    "ich gerade gefragt",
    "meine letzte frage",
    "meine erste frage",
];
const ORIGINS: &[&str] = &[
    "what is your source",
    "what's your source",
    "what was your source",
    "where did you get that",
    "where is that from",
    "where did that come from",
    "which page was that",
    "which page is that from",
];

/// An answer from the session itself, if the session is what was asked about.
pub(super) fn about_session(query: &str, before: &[Turn]) -> Option<Answer> {
    let query = lower(query);
    let has = |marks: &[&str]| marks.iter().any(|mark| query.contains(mark));
    let sources = |turn: &Turn| -> Vec<Source> {
        let source = |(title, url): &(String, String)| Source {
            title: title.clone(),
            url: url.clone(),
            section: None,
            relevance: Relevance::Direct,
        };
        turn.sources.iter().take(3).map(source).collect()
    };
    if !has(OWN_WORDS) && !has(ORIGINS) {
        return None;
    }
    let (Some(first), Some(last)) = (before.first(), before.last()) else {
        let text = "Nothing was asked in this session before.".to_owned();
        return Some(Answer::Nothing { text, follow_ups: Vec::new() });
    };
    let turn = if query.contains("first question") || query.contains("erste frage") { first } else { last };
    let titles: Vec<String> = turn.sources.iter().take(2).map(|(title, _)| plain::quoted(title)).collect();
    let from = match (titles.is_empty(), turn.options.is_empty()) {
        (false, _) => format!(" It was about {}.", titles.join(" and ")),
        (true, false) => {
            let offered: Vec<String> = turn.options.iter().map(|option| plain::quoted(option)).collect();
            format!(" You were asked which you mean: {}.", offered.join(", "))
        }
        (true, true) => String::new(),
    };
    let which = if std::ptr::eq(turn, last) { "You just asked" } else { "You first asked" };
    let mut text = format!("{which}: {}.{from}", plain::quoted(plain::shortened(&turn.query, 300)));
    if std::ptr::eq(turn, last)
        && let [.., earlier, _] = before
    {
        text.push_str(&format!(" Before that: {}.", plain::quoted(plain::shortened(&earlier.query, 200))));
    }
    Some(Answer::Found { text, sources: sources(turn), follow_ups: Vec::new(), confidence: 1.0 })
}

/// Does a question need the turns before it to be understood? `says` is whether any of its words is about something.
pub(super) fn leans(query: &str, says: bool) -> bool {
    let query = lower(query);
    let words: Vec<&str> =
        query.split(|c: char| c.is_whitespace() || ",;?!".contains(c)).filter(|word| !word.is_empty()).collect();
    // "And" in Italian and Portuguese, but not in "E bikes allowed?".
    let is_and = || {
        let rest = query.strip_prefix("e ").and_then(languages::guess);
        matches!(rest, Some(Language::Italian | Language::Portuguese))
    };
    if !says || BEGINNINGS.iter().any(|beginning| query.starts_with(beginning)) || is_and() {
        return true;
    }
    let points = |at: usize, word: &str| match word {
        // "How do I get there?", but not "is there an app?"; "can I take one", but not "what does one ticket cost?".
        "there" | "one" | "das" => at + 1 == words.len(),
        _ => POINTING.contains(&word) && !words.get(at + 1).is_some_and(|next| SITE.contains(next)),
    };
    words.len() <= 12 && words.iter().enumerate().any(|(at, word)| points(at, word))
}

/// What was said before that a leaning question takes up, the nearest first.
pub(super) fn context<'a>(before: &'a [Turn], says: impl Fn(&str) -> bool) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let mut weight = 0.6;
    for (turn, earlier) in before.iter().rev().take(REACH).zip((0..before.len()).rev()) {
        parts.push(Part { text: &turn.query, weight, wanted: false });
        if parts.len() == 1
            && let Some((title, _)) = turn.sources.first()
        {
            parts.push(Part { text: title, weight: 0.5, wanted: false });
        }
        // Beyond a question that stands by itself, another subject may begin.
        if earlier == 0 || !leans(&turn.query, says(&turn.query)) {
            break;
        }
        weight *= 0.7;
    }
    parts
}

fn lower(query: &str) -> String {
    query[..query.floor_char_boundary(LOOKED_AT)].trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_lean_are_told_from_those_that_stand() {
        for query in [
            "and for groups?",
            "What about Tokyo?",
            "what does it cost?",
            "How do I get there?",
            "Und nach Madrid?",
            "Can I take one",
            "Was kostet das?",
            "E per i gruppi?",
        ] {
            assert!(leans(query, true), "{query}");
        }
        for query in [
            "Is there an app for the iPhone?",
            "Who runs this site?",
            "What does an extra bag cost?",
            "Andorra?",
            "Was kostet das Ticket?",
            "How much is one ticket?",
            "E bikes allowed?",
        ] {
            assert!(!leans(query, true), "{query}");
        }
        assert!(leans("How much?", false));
    }

    #[test]
    fn a_session_is_asked_about_itself() {
        let turn = |query: &str| Turn {
            query: query.into(),
            sources: vec![("Baggage".into(), "/b".into())],
            ..Turn::default()
        };
        let before = [turn("one"), turn("two “x”")];
        let Some(Answer::Found { text, sources, .. }) = about_session("Which of these did I just ask about?", &before)
        else {
            panic!()
        };
        assert_eq!(text, "You just asked: “two ‘x’”. It was about “Baggage”. Before that: “one”.");
        assert_eq!(sources[0].url, "/b");
        assert!(
            matches!(about_session("What was my first question?", &before), Some(Answer::Found { text, .. }) if text.contains("“one”"))
        );
        assert!(matches!(about_session("What did I ask?", &[]), Some(Answer::Nothing { .. })));
        assert_eq!(about_session("What does a bag cost?", &before), None);
    }
}
