//! Questions whose words the site does not use, with vectors beside the words.

use super::*;
use crate::Vectors;

/// A model for three things: money, time and animals.
fn vector(text: &str) -> Vec<f32> {
    const WORDS: [&[&str]; 3] = [
        &["ticket", "cost", "pay", "price", "afford", "eur"],
        &["when", "hour", "noon", "open", "schedule"],
        &["dog", "puppy", "animal", "leash"],
    ];
    let text = text.to_lowercase();
    let count = |words: &[&str]| words.iter().map(|word| text.matches(word).count()).sum::<usize>() as f32;
    let [money, time, animals] = WORDS.map(count);
    vec![money, time, animals, 0.3, 0.0]
}

fn with_vectors(library: Library) -> Library {
    let vectors = Arc::new(Vectors::new("three things"));
    let library = library.with_vectors(vectors.clone());
    let texts = library.without_vector(1_000);
    vectors.add(&texts, &texts.iter().map(|text| vector(text)).collect::<Vec<_>>());
    vectors.learn(&[vec![0.0, 0.0, 0.0, 0.0, 1.0]]);
    vectors.measure();
    assert!(library.without_vector(10).is_empty());
    library
}

fn dogs() -> Library {
    let mut all = pages();
    all.push(page("/four-paws", "Four paws", "# Four paws\n\nDogs come along for free. They wear a leash on deck.\n"));
    Library::build(&facts(), &all)
}

#[test]
fn a_question_in_other_words_is_answered_by_its_meaning() {
    let query = "May puppies join?";
    assert!(matches!(dogs().answer(&ask(query, &[])), Answer::Nothing { .. }), "words alone do not find it");
    let library = with_vectors(dogs());
    let vector = vector("puppy");
    let Answer::Found { text, sources, .. } = library.answer(&Question { vector: Some(&vector), ..ask(query, &[]) })
    else {
        panic!("not found")
    };
    assert!(text.starts_with("## Four paws"), "{text}");
    assert!(sources[0].url.ends_with("/four-paws"));
}

#[test]
fn on_a_large_site_a_meaning_has_to_stand_out() {
    let answer = |animals: usize| {
        let text = |n: usize| if n < animals { "An animal sleeps" } else { "Nobody sleeps" };
        let page =
            |n: usize| page(&format!("/{n}"), &format!("Cabin {n}"), &format!("# Cabin {n}\n\n{} here.\n", text(n)));
        let library = with_vectors(Library::build(&facts(), &(0..120).map(page).collect::<Vec<_>>()));
        let vector = vector("puppy");
        library.answer(&Question { vector: Some(&vector), ..ask("May puppies join?", &[]) })
    };
    assert!(matches!(answer(1), Answer::Found { .. }), "{:?}", answer(1));
    assert!(matches!(answer(120), Answer::Nothing { .. }), "all cabins are as near");
}

#[test]
fn a_meaning_that_is_nowhere_near_is_no_answer() {
    let library = with_vectors(dogs());
    let far = [0.0, 0.0, 0.0, 0.0, 1.0];
    let answer = library.answer(&Question { vector: Some(&far), ..ask("Do you rent submarines?", &[]) });
    assert!(matches!(answer, Answer::Nothing { .. }), "{answer:?}");
    // A vector of another model is none.
    let answer = library.answer(&Question { vector: Some(&[1.0]), ..ask("What does a ticket cost?", &[]) });
    assert!(found(answer).contains("24 EUR"));
}

#[test]
fn while_few_passages_have_a_vector_only_words_are_searched() {
    let vectors = Arc::new(Vectors::new("three things"));
    let library = dogs().with_vectors(vectors.clone());
    let texts = library.without_vector(1);
    vectors.add(&texts, &[vector("dog")]);
    let question = ask("What does a ticket cost?", &[]);
    let answer = library.answer(&Question { vector: Some(&vector("dog")), ..question });
    assert_eq!(answer, dogs().answer(&question));
}

#[test]
fn vectors_stay_with_the_texts_that_they_are_of() {
    let library = with_vectors(dogs());
    let vectors = library.vectors().expect("vectors").clone();
    let mut all = pages();
    all.push(page("/cats", "Cats", "# Cats\n\nCats stay ashore.\n"));
    let renewed = library.renewed(&facts(), &all).with_vectors(vectors.clone());
    let missing = renewed.without_vector(10);
    assert_eq!(missing, ["Cats\nCats stay ashore."]);
    let before = vectors.len();
    vectors.keep_only(&renewed);
    assert_eq!(vectors.len(), before - 1, "the dogs are gone");
}
