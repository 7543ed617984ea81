//! What answers hold, and in which order.

use super::*;

#[test]
fn an_answer_is_the_sections_that_answer_with_where_they_stand() {
    let Answer::Found { text, sources, follow_ups, confidence } =
        library().answer(&ask("How much is a ticket for a group?", &[]))
    else {
        panic!()
    };
    let groups = "## Tickets › Groups\n\nGroups of ten or more pay 18 EUR each. Please write to us a week before.";
    assert!(text.starts_with(groups), "{text}");
    assert_eq!((sources[0].title.as_str(), sources[0].url.as_str()), ("Tickets", "https://harbour.test/tickets"));
    assert_eq!(sources[0].section.as_deref(), Some("Groups"));
    assert_eq!((sources[0].relevance, sources[0].relevance.name()), (Relevance::Direct, "direct"));
    assert!(!follow_ups.is_empty() && (0.5..1.0).contains(&confidence), "{confidence} {follow_ups:?}");
}

#[test]
fn code_tables_and_lists_are_quoted_whole_and_a_list_of_contents_never() {
    let manual = "# Manual\n\n- [Install](/manual#install)\n- [Speed](/manual#speed)\n- [Limits](/manual#limits)\n\n\
        ## Install\n\nRun this as root:\n\n```sh\npkg add --now boat_tool\n\nboat_tool --check\n```\n\n\
        ## Speed\n\n| Engine | Knots |\n| --- | --- |\n| diesel | 12 |\n| electric | 9 |\n\n## Limits\n\n- one anchor\n- two ropes\n";
    let library = Library::build(&SiteFacts::default(), &[page("/manual", "Manual", manual)]);
    let Answer::Found { text, sources, .. } = library.answer(&ask("How do I install boat_tool?", &[])) else {
        panic!()
    };
    assert!(text.contains("```sh\npkg add --now boat_tool\n\nboat_tool --check\n```"), "{text}");
    assert!(!text.contains("- Speed"), "{text}");
    assert_eq!(sources[0].url, "/manual#install");
    assert!(found(library.answer(&ask("What does --check do?", &[]))).contains("boat_tool --check"));
    let text = found(library.answer(&ask("How many knots does the electric engine make?", &[])));
    assert!(text.contains("| diesel | 12 |\n| electric | 9 |"), "{text}");
}

/// A question about bicycles on a ferry, on a site that has a page about the bus, too.
fn on_the_ferry(query: &str) -> (String, f32) {
    let ferry = "# Ferry\n\n## Bicycles\n\nA bicycle on the ferry costs 5 EUR and needs a ticket of its own.\n\n\
                 ## Luggage\n\nBags are free. The rack of the ferry holds one bicycle.\n\n## Dogs\n\nDogs wear a leash.\n";
    let bus = "# Bus\n\n## Bicycles\n\nA bicycle on the bus costs 3 EUR.\n";
    let pages = [("/ferry", "Ferry", ferry), ("/bus", "Bus", bus)];
    let pages = pages.map(|(path, title, text)| Arc::new(testing::page(path, title, text)));
    match Library::build(&SiteFacts::default(), &pages).answer(&ask(query, &[])) {
        Answer::Found { text, confidence, .. } => (text, confidence),
        answer => panic!("{answer:?}"),
    }
}

#[test]
fn what_else_the_best_page_says_comes_before_other_pages() {
    let (text, _) = on_the_ferry("What does a folding bicycle on the ferry cost?");
    let at = |mark: &str| text.find(mark).unwrap_or_else(|| panic!("{mark}: {text}"));
    assert!(at("## Ferry › Bicycles") < at("\n\n### Ferry › Luggage\n\nBags are free."), "{text}");
    assert!(at("\n\n### Ferry › Luggage\n\nBags are free.") < at("\n\n## Bus › Bicycles"), "{text}");
}

#[test]
fn a_short_section_is_quoted_with_what_stands_around_it() {
    let tempo = "# Tempo\n\nLearn the tempo of a song by tapping on the keyboard.\n\n## Usage\n\nPress Enter three times. This is right \
                 within 5 percent.\n";
    let pages = [testing::page("/tempo", "Tempo", tempo), testing::page("/bus", "Bus", "# Bus\n\nIt runs at noon.\n")];
    let library = Library::build(&SiteFacts::default(), &pages.map(Arc::new));
    let (Answer::Found { text, .. } | Answer::Nothing { text, .. }) =
        library.answer(&ask("How precise is the tempo if I tap along on the keyboard?", &[]))
    else {
        panic!()
    };
    assert!(text.contains("tapping on the keyboard.\n\n### Tempo › Usage") && text.contains("5 percent"), "{text}");
}

#[test]
fn the_surer_an_answer_is_the_less_is_quoted_beside_it() {
    let (unsure, low) = on_the_ferry("What does a folding bicycle on the ferry cost?");
    let (sure, high) = on_the_ferry("What does a bicycle on the ferry cost?");
    assert!(high > 0.9 && low < 0.8, "{high} {low}");
    assert!(unsure.contains("5 EUR") && unsure.contains("rack"), "{unsure}");
    assert!(sure.contains("5 EUR") && !sure.contains("rack"), "{sure}");
}

#[test]
fn where_nothing_comes_near_the_pages_are_named_that_have_one_of_the_words() {
    let query = "Does a marvellous hovercraft or a golden zeppelin carry a bicycle?";
    let Answer::Nothing { text, .. } = library().answer(&ask(query, &[])) else { panic!() };
    assert!(text.contains("does not mention") && text.contains("The nearest pages:"), "{text}");
}

#[test]
fn a_misspelt_word_is_found_where_nothing_else_is() {
    let library = library();
    assert!(found(library.answer(&ask("Can I bring a bicylce?", &[]))).contains("A bicycle costs 5 EUR"));
    assert!(matches!(library.answer(&ask("Is there a casino?", &[])), Answer::Nothing { .. }));
}

#[test]
fn what_links_call_a_page_counts_for_it() {
    let mut all = pages();
    all.push(page("/dogs", "Four paws", "# Four paws\n\nThey travel for free and wear a leash.\n"));
    all.push(page("/help", "Help", "# Help\n\n- [Taking a dog along](/dogs)\n- [Prices](/tickets)\n- [Us](/about)\n"));
    let library = Library::build(&facts(), &all);
    let Answer::Found { sources, .. } = library.answer(&ask("May I take my dog along?", &[])) else { panic!() };
    assert!(sources.iter().any(|source| source.url.ends_with("/dogs")), "{sources:?}");
}

#[test]
fn a_word_that_the_site_does_not_have_prevents_nothing() {
    let Answer::Found { text, confidence, .. } =
        library().answer(&ask("Does a marvellous ticket for groups of ten cost less?", &[]))
    else {
        panic!()
    };
    assert!(text.contains("18 EUR"), "{text}");
    let (sure, query) = (confidence, "Does a ticket for groups of ten cost less?");
    let Answer::Found { confidence, .. } = library().answer(&ask(query, &[])) else { panic!() };
    assert!(confidence > sure, "{confidence} {sure}");
}

#[test]
fn a_visitor_is_answered_in_a_language_that_the_site_has() {
    let mut all = pages();
    let german =
        page("/de/preise", "Preise", "# Preise\n\n## Hunde\n\nHunde fahren kostenlos mit. Fahrräder kosten 5 EUR.\n");
    all.push(Arc::new(Page { language: Some("de-DE".into()), ..(*german).clone() }));
    let library = Library::build(&facts(), &all);
    let text = found(library.answer(&Question { locale: Some("de-AT"), ..ask("Was kostet ein Fahrrad?", &[]) }));
    assert!(text.contains("Fahrräder kosten 5 EUR"), "{text}");
    // What only the other language says is found as well.
    assert!(found(library.answer(&ask("Hunde", &[]))).contains("kostenlos"));
    assert!(found(library.answer(&Question { locale: Some("fr"), ..ask("ticket price", &[]) })).contains("24 EUR"));
}

#[test]
fn what_may_not_be_found_is_not() {
    let mut all = pages();
    let secret = page("/secret", "Secret", "# Secret\n\nThe treasure is under pier 9.\n");
    all.push(Arc::new(Page { noindex: true, ..(*secret).clone() }));
    let again = page("/tickets?again", "Tickets", &pages()[1].markdown);
    all.push(again);
    let print = page("/print", "Print", "# Print\n\nPrinted tickets.\n");
    all.push(Arc::new(Page { canonical: Some("/tickets".into()), ..(*print).clone() }));
    let library = Library::build(&facts(), &all);
    assert_eq!(library.pages(), pages().len());
    assert!(matches!(library.answer(&ask("Where is the treasure?", &[])), Answer::Nothing { .. }));
}

#[test]
fn a_feed_lists_pages_once_each() {
    let library = library();
    let hits = library.feed(&ask("tour", &[]), 2);
    assert_eq!(hits.len(), 2);
    assert_ne!(hits[0].url, hits[1].url);
    assert!(hits.iter().all(|hit| hit.url.starts_with("https://harbour.test/") && !hit.description.is_empty()));
    assert!(library.feed(&ask("submarines", &[]), 10).is_empty());
    assert!(library.feed(&ask("tour", &[]), 0).is_empty());
}

#[test]
fn a_site_of_two_pages_is_answered_from_the_right_one() {
    let about = |name: &str| format!("# {name}\n\nThis page is about {name}, and about nothing else.\n");
    let start = format!("{}\n- [/submarines](/submarines)\n", about("Start"));
    let pages = [page("/", "Start", &start), page("/submarines", "submarines", &about("submarines"))];
    let library = Library::build(&SiteFacts::default(), &pages);
    let Answer::Found { sources, .. } = library.answer(&ask("What is the page on submarines about?", &[])) else {
        panic!()
    };
    assert_eq!(sources[0].url, "/submarines");
}

#[test]
fn a_source_leads_to_the_fragment_that_the_page_gives_its_heading() {
    let text = "# Tariff\n\n## Winter\n\n### Price\n\nIn winter a cabin costs 30 EUR.\n\n## Summer\n\n### Price\n\nIn summer a cabin costs 55 EUR.\n";
    let anchors = [("Winter", "w"), ("Price", "price-1"), ("Summer", "s"), ("Price", "price-2")];
    let anchors = anchors.map(|(heading, id)| (heading.to_owned(), id.to_owned())).to_vec();
    let tariff = Page { anchors, ..(*page("/tariff", "Tariff", text)).clone() };
    let library = Library::build(&SiteFacts::default(), &[Arc::new(tariff)]);
    for (query, url) in [
        ("What does a cabin cost in winter?", "/tariff#price-1"),
        ("What does a cabin cost in summer?", "/tariff#price-2"),
    ] {
        let Answer::Found { sources, .. } = library.answer(&ask(query, &[])) else { panic!("{query}") };
        assert_eq!(sources[0].url, url, "{query}");
    }
}
