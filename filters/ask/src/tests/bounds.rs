//! What an answer may cost.

use super::*;

#[test]
fn an_answer_costs_no_more_than_allowed() {
    let long = format!(
        "# Long\n\n## Everything about fish\n\n{}",
        "Fish are sold at the pier every morning by the fishermen. ".repeat(100)
    );
    let mut all = pages();
    all.extend((0..5).map(|n| page(&format!("/fish/{n}"), &format!("Fish {n}"), &format!("{long}{n}"))));
    let library = Library::build(&facts(), &all);
    for most in [0, 1, 10, 40, 100, 280, 2_000, 100_000] {
        for query in ["Where are fish sold by the fishermen?", "What does a ticket cost?", "What is this site?"] {
            let Answer::Found { text, sources, follow_ups, .. } =
                library.answer(&Question { max_tokens: most, ..ask(query, &[]) })
            else {
                continue;
            };
            let cost = |text: &str| tokens::count(text) as usize;
            let rest: usize = sources.iter().map(|source| cost(&source.title) + cost(&source.url)).sum::<usize>()
                + follow_ups.iter().map(|text| cost(text)).sum::<usize>();
            let all = cost(&text) + rest;
            assert!(all <= most.max(8), "{all} of {most}: {text}");
            assert!(cost(&text) <= ANSWER_TOKENS + 8, "{}: {text}", cost(&text));
        }
    }
}

#[test]
fn the_sentence_that_answers_is_the_last_to_go() {
    let said = "# Rules\n\n## On board\n\nSailing is a quiet way to see the harbour from the water. Most of our guests come back \
                another year. Smoking is forbidden on deck. Lunch is served below at one.\n";
    let library = Library::build(&facts(), &[page("/rules", "Rules", said)]);
    let told =
        |max_tokens| found(library.answer(&Question { max_tokens, ..ask("Is smoking forbidden on deck?", &[]) }));
    assert!(told(ANSWER_TOKENS).contains("Most of our guests"), "{}", told(ANSWER_TOKENS));
    for most in [64, 48, 36] {
        assert!(told(most).contains("Smoking is forbidden on deck."), "{most}: {}", told(most));
    }
}
