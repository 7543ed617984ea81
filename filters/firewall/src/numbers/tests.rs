//! Digits that are findings, and other numbers that are none.

use super::*;

#[test]
fn digits_are_found_among_all_bytes() {
    for byte in 0..=255 {
        for at in 0..20 {
            let mut text = [b'x'; 20];
            text[at] = byte;
            assert_eq!(next_digit(&text), byte.is_ascii_digit().then_some(at), "{byte} at {at}");
        }
    }
}

fn found(text: &str) -> Vec<String> {
    let mut found = Findings::default();
    numbers(text.as_bytes(), &mut found);
    found.settled().iter().map(|f| format!("{}:{}", f.rule, &text[f.start..f.end])).collect()
}

#[test]
fn numbers_with_a_checksum_are_found() {
    for (text, value) in [
        ("card 4111 1111 1111 1111.", "card:4111 1111 1111 1111"),
        ("{\"n\":5555555555554444}", "card:5555555555554444"),
        ("4111-1111-1111-1111 12/27", "card:4111-1111-1111-1111"),
        ("4111 1111 1111 1111 12/27", "card:4111 1111 1111 1111"),
        ("Amex 3782-822463-10005,", "card:3782-822463-10005"),
        ("DE89 3704 0044 0532 0130 00", "iban:DE89 3704 0044 0532 0130 00"),
        ("(GB29NWBK60161331926819)", "iban:GB29NWBK60161331926819"),
        ("SSN 536-22-8714", "ssn:536-22-8714"),
        ("Bob,4111111111111111,12/27", "card:4111111111111111"),
        ("Bob,536-22-8714,Rome", "ssn:536-22-8714"),
        ("4111111111111111/12/27", "card:4111111111111111"),
        ("visa:4111 1111 1111 1111:12:27:123", "card:4111 1111 1111 1111"),
        ("\"ssn\":\"536228714\"", "ssn:536228714"),
    ] {
        assert_eq!(found(text), [value], "{text}");
    }
    let both = "{\"cards\":[4111111111111111,5500005555555559]}";
    assert_eq!(found(both), ["card:4111111111111111", "card:5500005555555559"]);
}

#[test]
fn other_numbers_stay() {
    for text in [
        "4111 1111 1111 1112",
        "DE84 4111 1111 1111 1111 00",
        "order 4111111111111111-22",
        "4111111111111111.25",
        "/orders/4111111111111111/items",
        "1,411,111,111,111,111 and 4.111.111.111.111.111",
        "536-22-8714-1, 536-22-8714.5",
        "#4111111111111111",
        "1700000000000 and 20230615123045",
        "978-3-16-148410-0 and 9783161484100",
        "000-12-3456, 666-12-3456, 900-12-3456, 123-00-4567, 123-45-0000, 078-05-1120",
        "2023-536-22-8714",
        "550e8400-e29b-41d4-a716-446655440000",
        "536228714",
        "DE89 3704 0044 0532 0130 01",
        "v4.1111.1111.1111.1111",
        "0000000000000000",
        "+44 20 7946 0958",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}
