//! Questions that are asked back, and what the choice settles.

use super::*;

#[test]
fn sections_of_the_same_name_are_asked_back_and_a_choice_settles_it() {
    let library = library();
    let query = "Where is the departure?";
    let answer = library.answer(&ask(query, &[]));
    let Answer::Unclear { question, options } = &answer else { panic!("{answer:?}") };
    assert_eq!(question, "2 pages of this site have a section “Departure”. Which one do you mean?");
    assert_eq!(options.len(), 2);
    let before = [turn(query, &answer)];
    let south = options.iter().position(|option| option == "South tour").unwrap();
    let number = (south + 1).to_string();
    for said in ["South tour", "south tour", &number, "the one to the lighthouse, the southern tour", "south"] {
        let text = found(library.answer(&Question { clarification: Some(said), ..ask(query, &before) }));
        assert!(text.contains("pier 7") && !text.contains("pier 3"), "{said}: {text}");
    }
    let all = found(library.answer(&Question { clarification: Some("all"), ..ask(query, &before) }));
    assert!(all.contains("pier 7") && all.contains("pier 3"), "{all}");
    // The choice as the next question, and the question that names a page.
    assert!(found(library.answer(&ask("South tour", &before))).contains("pier 7"));
    assert!(found(library.answer(&ask("Where is the departure of the south tour?", &[]))).contains("pier 7"));
}

/// Seventeen cities, each with its own time to go, and a page about something else.
fn cities() -> Library {
    const CITIES: [(&str, &str); 17] = [
        ("Athens", "April, before heat fills marble streets"),
        ("Bergen", "Midsummer nights without darkness over fjords"),
        ("Cairo", "November brings mild desert mornings"),
        ("Dublin", "Parades colour March weekends"),
        ("Edinburgh", "August festivals crowd every theatre"),
        ("Florence", "October harvest of olives and wine"),
        ("Geneva", "Fireworks above lakes in July"),
        ("Havana", "Dry January suits dancing outdoors"),
        ("Istanbul", "Tulips blossom throughout gardens mid-April"),
        ("Jaipur", "Lantern processions happen after monsoon"),
        ("Kyoto", "Cherry petals and maple leaves decide"),
        ("Lisbon", "Sardines grilled on June saints' eve"),
        ("Montreal", "Snow carnival enthusiasts prefer February"),
        ("Nairobi", "Wildebeest migrate past September"),
        ("Oslo", "Ski trails open around Christmas"),
        ("Prague", "Advent markets glow under castle towers"),
        ("Quito", "Equatorial springtime lasts forever"),
    ];
    let mut pages: Vec<Arc<Page>> = CITIES
        .iter()
        .map(|(name, says)| {
            let text = format!("# {name}\n\nA city.\n\n## When to go\n\n{says}.\n");
            page(&format!("/cities/{}", name.to_lowercase()), name, &text)
        })
        .collect();
    pages.push(page("/luggage", "Luggage", "# Luggage\n\nA suitcase may weigh 23 kilograms.\n"));
    Library::build(&SiteFacts::default(), &pages)
}

#[test]
fn all_pages_are_counted_that_answer_differently_and_each_can_be_named() {
    let (library, query) = (cities(), "When to go?");
    let answer = library.answer(&ask(query, &[]));
    let Answer::Unclear { question, options } = &answer else { panic!("{answer:?}") };
    assert_eq!(
        question,
        "17 pages of this site have a section “When to go”. Here are 5 of them; you can name another. Which one do you \
         mean?"
    );
    assert_eq!(options.len(), 5);
    let before = [turn(query, &answer)];
    let settled = |said: &str| library.answer(&Question { clarification: Some(said), ..ask(query, &before) });
    for (name, says) in [("Athens", "marble"), ("Havana", "dancing"), ("Oslo", "Ski"), ("Quito", "Equatorial")] {
        for said in [name.to_owned(), name.to_uppercase(), format!("I mean {name}, please")] {
            let text = found(settled(&said));
            assert!(text.contains(says), "{said}: {text}");
        }
    }
    // Of the four, one at least was not offered.
    assert!(["Athens", "Havana", "Oslo", "Quito"].iter().any(|name| !options.iter().any(|option| option == name)));
    // An answer of the visitor's own that is about something else is searched like any question.
    for said in ["How much may a suitcase weigh?", "suitcase kilograms"] {
        assert!(found(settled(said)).contains("23 kilograms"), "{said}");
    }
    // What fits nothing is said to.
    let Answer::Nothing { text, follow_ups } = settled("Atlantis") else { panic!("Atlantis") };
    assert_eq!(
        (text.as_str(), follow_ups.len()),
        ("Nothing on this site that answers the question fits “Atlantis”.", 5)
    );
}

#[test]
fn a_question_that_very_many_pages_answer_says_so_and_each_can_be_named() {
    let word = |n: usize| {
        let letters = [n / 26 % 26, n % 26, (n * 7 + 3) % 26, (n * 11 + 5) % 26].map(|at| char::from(b'a' + at as u8));
        letters.iter().collect::<String>()
    };
    let pages: Vec<Arc<Page>> = (0..130)
        .map(|n| {
            let says = format!("Zq{} xv{} kj{}", word(n), word(n + 200), word(n + 400));
            page(&format!("/p/{n}"), &format!("Place{n}"), &format!("# Place{n}\n\nHere.\n\n## Opening\n\n{says}.\n"))
        })
        .collect();
    let library = Library::build(&SiteFacts::default(), &pages);
    let query = "What is the opening?";
    let answer = library.answer(&ask(query, &[]));
    let Answer::Unclear { question, options } = &answer else { panic!("{answer:?}") };
    assert!(question.starts_with("More than 49 pages of this site have a section “Opening”"), "{question}");
    assert_eq!(options.len(), 5);
    let before = [turn(query, &answer)];
    for n in [0, 60, 129] {
        let said = format!("Place{n}");
        let text = found(library.answer(&Question { clarification: Some(&said), ..ask(query, &before) }));
        assert!(text.contains(&format!("Zq{}", word(n))), "{said}: {text}");
    }
}

#[test]
fn a_heading_that_several_pages_have_is_asked_back_only_where_it_is_the_question_and_the_pages_are_alike() {
    let of = |pages: &[(&str, &str, String)]| {
        let pages: Vec<_> =
            pages.iter().map(|(path, title, text)| testing::page(path, title, text)).map(Arc::new).collect();
        Library::build(&SiteFacts::default(), &pages)
    };
    // The heading says more than the question.
    let format =
        |title: &str, says: &str| format!("# {title}\n\n## 1.3.7. Size of the database in the header\n\n{says}\n");
    let library = of(&[
        ("/one", "Format of files", format("Format of files", "Four bytes hold a number of sheets.")),
        ("/two", "Format of logs", format("Format of logs", "An offset counts frames since a checkpoint.")),
    ]);
    let answer = library.answer(&ask("What size of database?", &[]));
    assert!(!matches!(answer, Answer::Unclear { .. }), "{answer:?}");
    // Two chapters that have one heading in common, and four others each.
    let chapter = |title: &str, others: [&str; 4], says: &str| {
        let others: String = others.iter().map(|other| format!("## {other}\n\nSomething about {other}.\n\n")).collect();
        format!("# {title}\n\n## Creating a virtual environment\n\n{says}\n\n{others}")
    };
    let library = of(&[
        (
            "/tutorial",
            "Tutorial",
            chapter("Tutorial", ["Loops", "Lists", "Errors", "Classes"], "Run this script first."),
        ),
        (
            "/venv",
            "Module",
            chapter("Module", ["Prompt", "Symlinks", "Upgrade", "Builder"], "A command makes directories."),
        ),
    ]);
    let text = found(library.answer(&ask("How do I create a virtual environment?", &[])));
    assert!(text.contains("Run this script") && text.contains("makes directories"), "{text}");
}
