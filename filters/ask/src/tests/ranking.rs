//! What comes first, and how sure that is.

use super::*;
use crate::{
    question::{Asked, Part, Spelling},
    rank::rank,
};

#[test]
fn a_word_within_a_compound_fits_less_than_the_word_itself() {
    let markdown = "# Namen\n\nJede Datei hat einen Namen.\n\n## Dateinamen\n\nDateinamen sind kurz.\n";
    let german = Page { language: Some("de".into()), ..testing::page("/namen", "Namen", markdown) };
    let library = Library::build(&SiteFacts::default(), &[Arc::new(german)]);
    let part = Part { text: "Was bedeutet der Name?", weight: 1.0, wanted: true };
    let asked = Asked::read(&library.index, &[part], "", Some("de"), Spelling::Exact);
    let share = |text: &str| {
        let mut terms = Vec::new();
        library.index.vocabulary.known(text, 0, &mut terms);
        asked.share_of(&terms).0
    };
    assert!(share("Dateinamen") > 0.0 && share("Dateinamen") < share("Namen"), "{}", share("Dateinamen"));
    // What was saved tells them apart as well.
    let saved = library.saved().expect("bytes");
    let restored = Library::restored(&SiteFacts::default(), library.shelf(), &saved).expect("a library");
    let id =
        |library: &Library| library.index.vocabulary.number("nam").and_then(|id| library.index.vocabulary.within(id));
    assert!(id(&library).is_some() && id(&library) == id(&restored));
}

#[test]
fn of_two_sections_that_fit_alike_neither_is_sure() {
    let confidence = |markdown: &str| {
        let library = Library::build(&SiteFacts::default(), &[page("/prices", "Prices", markdown)]);
        match library.answer(&ask("How much does a winter ticket for the ferry cost?", &[])) {
            Answer::Found { confidence, .. } => confidence,
            other => panic!("{other:?}"),
        }
    };
    let one =
        "# Prices\n\n## Winter ticket\n\nA winter ticket for the ferry costs 20 EUR.\n\n## Dogs\n\nDogs are free.\n";
    let alike = "## Winter tickets\n\nWinter tickets for the ferry cost 19 EUR for groups.";
    let two = one.replace("## Dogs\n\nDogs are free.", alike);
    let (one, two) = (confidence(one), confidence(&two));
    assert!(one > 0.8 && two < 0.8, "{one} {two}");
}

#[test]
fn other_words_for_the_same_come_first_and_another_language_loses_nothing_by_them() {
    let first = |pages: &[Arc<Page>], query: &str| {
        let library = Library::build(&SiteFacts::default(), pages);
        let part = Part { text: query, weight: 1.0, wanted: true };
        let asked = Asked::read(&library.index, &[part], "", None, Spelling::Exact);
        let best = rank(&library.index, &asked, query)[0].page;
        library.index.leaves[best as usize].page.path.clone()
    };
    let erasing = "# Volumes\n\n## Deleting a volume\n\nThis erases the files, and frees the space on the disk.\n";
    let shop = "# Shop\n\n## Opening times\n\nWe sell a disk from nine to five.\n";
    let mut pages = vec![page("/shop", "Shop", shop), page("/volumes", "Volumes", erasing)];
    assert_eq!(first(&pages, "How do I destroy the disk?"), "/volumes");
    let german = "# Datensicherung\n\n## Das Backup auf dem Server\n\nDas Backup der Datenbank liegt auf dem Server und wird \
                  jede Nacht mit dem Werkzeug für die Sicherung erneuert, damit nichts verloren geht.\n";
    pages.push(page("/de/sichern", "Datensicherung", german));
    assert_eq!(first(&pages, "Where is the backup on the server?"), "/de/sichern");
}

#[test]
fn what_a_word_means_comes_before_what_only_mentions_it() {
    let mentions = "# Assets\n\n## Equipment\n\nKnow the salvage value early. Mostly zero is assumed for an asset.\n";
    let defines = "# Basics\n\n## Words\n\n- **Book value** - the cost less what was written off.\n- **Salvage value** - what an \
                   asset can be sold for in the end.\n";
    let glossary = "# Glossary\n\n## Banks\n\n**Home Banking (HBCI)**\n\n- A protocol of banks.\n";
    let uses = "# Import\n\n## Formats\n\nHBCI is imported. For HBCI a password is needed.\n";
    let pages =
        [("/a", "Assets", mentions), ("/b", "Basics", defines), ("/g", "Glossary", glossary), ("/i", "Import", uses)];
    let pages = pages.map(|(path, title, text)| Arc::new(testing::page(path, title, text)));
    let library = Library::build(&SiteFacts::default(), &pages);
    let first = |query: &str| match library.answer(&ask(query, &[])) {
        Answer::Found { text, .. } | Answer::Nothing { text, .. } => {
            text.split("## ").nth(1).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
        }
        answer => panic!("{answer:?}"),
    };
    assert_eq!(first("What is HBCI?"), "Glossary › Banks");
    assert_eq!(first("Is HBCI imported?"), "Import › Formats");
    assert_eq!(first("What does salvage value mean?"), "Basics › Words");
}
