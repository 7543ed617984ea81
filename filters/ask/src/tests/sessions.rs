//! Questions that lean on what was said before.

use super::*;

#[test]
fn a_follow_up_is_understood_from_the_turns_before() {
    let library = library();
    let first = "Can I bring a bicycle?";
    let answer = library.answer(&ask(first, &[]));
    let before = [turn(first, &answer)];
    assert!(found(library.answer(&ask("what does it cost?", &before))).contains("A bicycle costs 5 EUR"));
    assert!(found(library.answer(&ask("and for groups?", &before))).contains("18 EUR"));
    // What leans and says nothing that the site knows is still told.
    assert!(matches!(library.answer(&ask("and for submarines?", &before)), Answer::Nothing { .. }));
    // What begins like a continuation and changes the subject is answered as it would be alone, in a list too.
    for query in ["And when was Harbour Tours founded?", "What about the founding by two brothers?"] {
        assert!(found(library.answer(&ask(query, &before))).contains("1987"), "{query}");
        assert!(library.feed(&ask(query, &before), 3).iter().any(|hit| hit.url.ends_with("/about")), "{query}");
    }
    // A question that stands by itself is not drawn to what was asked before.
    assert!(found(library.answer(&ask("When was Harbour Tours founded?", &before))).contains("1987"));
}

#[test]
fn a_session_answers_for_itself() {
    let library = library();
    let query = "Can I bring a bicycle?";
    let before = [turn(query, &library.answer(&ask(query, &[])))];
    let text = found(library.answer(&ask("Which of these did I just ask about?", &before)));
    assert_eq!(text, "You just asked: “Can I bring a bicycle?”. It was about “Tickets”.");
}
