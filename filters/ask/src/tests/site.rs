//! What the site is, and libraries that know little.

use super::*;

#[test]
fn the_site_says_what_it_is() {
    let library = library();
    let text = found(library.about(&ask("What is this site?", &[])));
    assert!(text.contains("Boat tours") && text.contains("Harbour Tours Ltd"), "{text}");
    assert!(found(library.about(&ask("How can I contact you?", &[]))).contains("hello@harbour.test"));
    assert!(found(library.about(&ask("Who runs this?", &[]))).contains("Harbour Tours Ltd"));
    assert!(found(library.about(&ask("What can you do?", &[]))).contains("book_tour"));
    assert!(found(library.about(&ask("When was it founded?", &[]))).contains("1987"));
    assert!(found(library.answer(&ask("What is this?", &[]))).contains("Boat tours"));
}

#[test]
fn a_library_without_pages_knows_nothing() {
    fn shared<T: Send + Sync>(_: &T) {}
    let library = Library::empty();
    shared(&library);
    assert_eq!((library.pages(), library.bytes()), (0, 0));
    assert!(matches!(library.answer(&ask("What does a ticket cost?", &[])), Answer::Nothing { .. }));
    assert!(matches!(library.about(&ask("Who are you?", &[])), Answer::Nothing { .. }));
    assert!(library.feed(&ask("ticket", &[]), 10).is_empty());
    // The operator's words stand without pages, too; before any is read, say.
    let library = Library::build(&facts(), &[]);
    assert!(found(library.about(&ask("Who runs this?", &[]))).contains("Harbour Tours Ltd"));
}
