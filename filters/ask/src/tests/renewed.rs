//! Libraries that go on from an earlier one, and from what was saved of one.

use super::*;

/// A site large enough that one page is a small part of it.
fn shop(count: usize) -> Vec<Arc<Page>> {
    let says = |n: usize| {
        format!("# Article {n}\n\nArticle {n} is a lamp{n} of {} watts.\n\n## Price\n\nIt costs {n} EUR.\n", n * 7)
    };
    (0..count).map(|n| page(&format!("/articles/{n}"), &format!("Article {n}"), &says(n))).collect()
}

fn told(library: &Library, query: &str) -> String {
    match library.answer(&ask(query, &[])) {
        Answer::Found { text, .. } | Answer::Nothing { text, .. } => text,
        Answer::Unclear { question, .. } => question,
    }
}

#[test]
fn a_new_page_is_found_beside_the_old_ones_and_a_changed_one_as_it_is_now() {
    let mut pages = shop(40);
    let first = Library::build(&facts(), &pages);
    pages.push(page("/returns", "Returns", "# Returns\n\nParcels go back to our warehouse in Rotterdam.\n"));
    pages[3] = page("/articles/3", "Article 3", "# Article 3\n\nArticle 3 is a candle made of beeswax.\n");
    pages.remove(5);
    let renewed = first.renewed(&facts(), &pages);
    assert_eq!(renewed.pages(), 40);
    assert!(told(&renewed, "Where do parcels go back to?").contains("Rotterdam"));
    assert!(told(&renewed, "Which article is made of beeswax?").contains("candle"));
    assert!(!told(&renewed, "lamp3").contains("21 watts"), "the earlier version is gone");
    assert!(!told(&renewed, "lamp5").contains("35 watts"), "the removed page is gone");
    assert!(told(&renewed, "lamp4").contains("28 watts"));
    // What asks the earlier library meanwhile gets what it got.
    assert!(told(&first, "lamp3").contains("21 watts") && told(&first, "lamp5").contains("35 watts"));
    // Two libraries that go on from the same one do not disturb each other.
    let other = first.renewed(&facts(), &shop(40));
    assert!(told(&other, "lamp3").contains("21 watts") && told(&renewed, "beeswax").contains("candle"));
}

#[test]
fn only_what_changed_is_read_again() {
    let mut pages = shop(60);
    let first = Library::build(&facts(), &pages);
    pages[7] = page("/articles/7", "Article 7", "# Article 7\n\nSold out.\n");
    let index = first.index.updated(&pages).expect("one page of sixty is no reason to begin anew");
    assert_eq!(index.leaves.len(), 61);
    assert!(first.index.updated(&pages).is_none(), "the index has gone on already");
    assert!(Library::build(&facts(), &pages[..30]).index.updated(&pages).is_none(), "most of it is new");
}

#[test]
fn a_library_that_was_saved_answers_as_before() {
    let pages = pages();
    let library = Library::build(&facts(), &pages);
    let saved = library.saved().expect("something to save");
    let restored = Library::restored(&facts(), &pages, &saved).expect("a library");
    for query in
        ["How much is a ticket for a group?", "Can I bring a bicycle?", "Where is the departure?", "Is there a casino?"]
    {
        assert_eq!(restored.answer(&ask(query, &[])), library.answer(&ask(query, &[])), "{query}");
    }
    assert_eq!((restored.pages(), restored.passages()), (library.pages(), library.passages()));
}

#[test]
fn what_changed_since_it_was_saved_is_read_again() {
    let mut pages = shop(40);
    let saved = Library::build(&facts(), &pages).saved().expect("something to save");
    pages[3] = page("/articles/3", "Article 3", "# Article 3\n\nArticle 3 is a candle made of beeswax.\n");
    let restored = Library::restored(&facts(), &pages, &saved).expect("a library");
    assert!(told(&restored, "beeswax").contains("candle") && !told(&restored, "lamp3").contains("21 watts"));
    assert!(told(&restored, "lamp9").contains("63 watts"));
    // What was saved of one that has gone on has no traces of what was removed.
    let again = restored.saved().expect("something to save");
    let again = Library::restored(&facts(), &pages, &again).expect("a library");
    assert!(told(&again, "beeswax").contains("candle") && !told(&again, "lamp3").contains("21 watts"));
}

#[test]
fn damaged_bytes_are_no_library() {
    let pages = pages();
    let saved = Library::build(&facts(), &pages).saved().expect("something to save");
    for at in (0..saved.len()).step_by(997) {
        let mut damaged = saved.clone();
        damaged[at] ^= 0x20;
        assert!(Library::restored(&facts(), &pages, &damaged).is_none(), "{at}");
        assert!(Library::restored(&facts(), &pages, &saved[..at]).is_none(), "{at}");
    }
}
