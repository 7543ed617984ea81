//! Short sites whose pages do not say their language, asked in five languages.

use super::*;
use crate::question::{Asked, Part, Spelling};

fn shop(markdown: &str) -> Library {
    Library::build(&SiteFacts::default(), &[Arc::new(testing::page("/", "", markdown))])
}

/// A page with sentences, the same as a list of prices alone, and a question that both answer, in each language.
const SHOPS: [(&str, &str, &str); 5] = [
    ("# Hats\n\nA felt hat costs 20 euros.\n", "# Hats\n\nFelt hat: 20 EUR\n", "What does a felt hat cost?"),
    ("# Hüte\n\nEin Filzhut kostet 20 Euro.\n", "# Hüte\n\nFilzhut: 20 EUR\n", "Was kostet bei euch ein Filzhut?"),
    (
        "# Chapeaux\n\nUn chapeau de feutre coûte 20 euros.\n",
        "# Chapeaux\n\nChapeau feutre : 20 EUR\n",
        "Combien coûte un chapeau de feutre chez vous ?",
    ),
    (
        "# Sombreros\n\nUn sombrero de fieltro cuesta 20 euros.\n",
        "# Sombreros\n\nSombrero fieltro: 20 EUR\n",
        "¿Cuánto cuesta un sombrero de fieltro?",
    ),
    (
        "# Cappelli\n\nUn cappello di feltro costa 20 euro.\n",
        "# Cappelli\n\nCappello feltro: 20 EUR\n",
        "Quanto costa un cappello di feltro?",
    ),
];

/// Words of the questions that say nothing: no answer may miss them.
const SMALL: [&str; 15] =
    ["What", "does", "a", "Was", "bei", "euch", "ein", "Combien", "un", "de", "chez", "vous", "Cuánto", "Quanto", "di"];

#[test]
fn a_short_page_without_a_language_answers_in_its_own() {
    for (sentences, prices, question) in SHOPS {
        for markdown in [sentences, prices] {
            let text = found(shop(markdown).answer(&ask(question, &[])));
            assert!(text.contains("20"), "{question}: {text}");
            for word in SMALL {
                assert!(!text.contains(&format!("“{word}”")), "{question}: {text}");
            }
        }
    }
}

#[test]
fn small_words_of_another_language_than_the_sites_are_not_missed() {
    let hats =
        "# Hats\n\nFelt hat: 20 EUR. Straw hat: 12 EUR. All hats are made by hand in the workshop behind the shop.\n";
    for (question, missed) in [
        ("Was kostet bei euch ein Regenschirm?", "Regenschirm"),
        ("Combien coûte un parapluie chez vous ?", "parapluie"),
        ("¿Cuánto cuesta un paraguas?", "paraguas"),
        ("Quanto costa un ombrello?", "ombrello"),
    ] {
        let Answer::Nothing { text, .. } = shop(hats).answer(&ask(question, &[])) else { panic!("{question}") };
        assert!(text.contains(missed), "{text}");
        for word in SMALL {
            assert!(!text.contains(&format!("“{word}”")), "{question}: {text}");
        }
    }
}

#[test]
fn a_page_that_does_not_show_its_language_has_that_of_the_others() {
    let page = |path: &str, markdown: &str| Arc::new(testing::page(path, "", markdown));
    let pages = [
        page("/", "# Laden\n\nDer Laden ist von Montag bis Freitag offen, und die Werkstatt auch.\n"),
        page("/preise", "# Preise\n\nStrohhüte: 12 EUR\n"),
    ];
    let library = Library::build(&SiteFacts::default(), &pages);
    let text = found(library.answer(&ask("Was kostet ein Strohhut?", &[])));
    assert!(text.contains("12 EUR"), "{text}");
}

#[test]
fn everyday_words_stand_for_those_of_manuals_and_count_less() {
    for (tag, said, written) in [
        ("en", "wipe", "cleanup"),
        ("de", "kaputt", "defekt"),
        ("fr", "enlever", "supprimer"),
        ("es", "quitar", "eliminar"),
    ] {
        let text = format!("# Manual\n\n{said}\n\n{written}\n");
        let page = Page { language: Some(tag.into()), ..testing::page("/", "Manual", &text) };
        let library = Library::build(&SiteFacts::default(), &[Arc::new(page)]);
        let part = Part { text: said, weight: 1.0, wanted: true };
        let asked = Asked::read(&library.index, &[part], "", Some(tag), Spelling::Exact);
        let share = |text: &str| {
            let mut terms = Vec::new();
            library.index.vocabulary.known(text, 0, &mut terms);
            asked.share_of(&terms).0
        };
        assert!(share(written) > 0.0 && share(written) < share(said), "{said} {written}: {}", share(written));
    }
}
