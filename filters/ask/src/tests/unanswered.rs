//! What is said where the site does not answer.

use super::*;

#[test]
fn where_nothing_answers_the_nearest_pages_are_named() {
    let Answer::Nothing { text, .. } = library().answer(&ask("Is there a disco at the lighthouse?", &[])) else {
        panic!()
    };
    assert!(
        text.starts_with("Nothing on this site ") && text.contains("answers that. It does not mention “disco”"),
        "{text}"
    );
    assert!(text.contains("The nearest pages:\n- South tour: https://harbour.test/tours/south"), "{text}");
}

#[test]
fn what_can_be_asked_next_can_be_answered() {
    let (library, mut proposed) = (library(), 0);
    for query in
        ["What does a ticket cost?", "Where is the lighthouse?", "When were you founded?", "Do you sell submarines?"]
    {
        let follow_ups = match library.answer(&ask(query, &[])) {
            Answer::Found { follow_ups, .. } | Answer::Nothing { follow_ups, .. } => follow_ups,
            other => panic!("{other:?}"),
        };
        proposed += follow_ups.len();
        for next in follow_ups {
            let answer = library.answer(&ask(&next, &[]));
            assert!(matches!(answer, Answer::Found { .. }), "{query}: {next}: {answer:?}");
        }
    }
    assert!(proposed > 4, "{proposed}");
}

#[test]
fn what_the_site_does_not_say_is_said_plainly() {
    let Answer::Nothing { text, .. } = library().answer(&ask("Do you rent submarines?", &[])) else { panic!() };
    assert!(
        text.starts_with("Nothing on this site answers that. It does not mention “rent” or “submarines”."),
        "{text}"
    );
}

#[test]
fn before_anything_was_read_that_is_what_is_said() {
    let library = Library::build(&SiteFacts::default(), &[]);
    let Answer::Nothing { text, .. } = library.answer(&ask("Do you rent submarines?", &[])) else { panic!() };
    assert_eq!(text, "No page of this site has been read so far. Ask again in a moment.");
}

#[test]
fn what_is_not_found_while_the_site_is_read_is_not_denied() {
    let query = "Do you rent submarines?";
    let said = |library: &Library| match library.answer(&ask(query, &[])) {
        Answer::Nothing { text, .. } => text,
        other => panic!("{other:?}"),
    };
    let text = said(&library().covering(Coverage::Partial));
    let partly = "Nothing that has been read of this site so far answers that. The site is still being read: ask again in a \
                  moment. So far it does not mention “rent” or “submarines”.";
    assert!(text.starts_with(partly), "{text}");
    let unreadable = Library::build(&SiteFacts::default(), &[]).covering(Coverage::Unreadable);
    assert_eq!(said(&unreadable), "No page of this site could be read, so its pages cannot answer that.");
    for (coverage, promises) in [(Coverage::Partial, true), (Coverage::Unreadable, false), (Coverage::Whole, false)] {
        let library = Library::build(&SiteFacts::default(), &[]).covering(coverage);
        let Answer::Nothing { text, .. } = library.about(&ask("What is this site?", &[])) else { panic!() };
        assert_eq!(text.contains("in a moment"), promises, "{text}");
        assert_eq!(said(&library).contains("in a moment"), promises);
    }
}
