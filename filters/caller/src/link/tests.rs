//! What tokens open, and what the store shows.

use frontdesk_base::text::hex;
use frontdesk_state::testing::{Shelf, run};
use serde_json::json;

use super::*;

const ISSUER: &str = "https://site.test";

fn made() -> (LinkRecord, LinkId, Key, Token, Token) {
    let (id, key) = (LinkId::new().unwrap(), Key::new().unwrap());
    let mut record = LinkRecord::new((ISSUER, "client"), ("Agent", true), &[], 100, 1000).unwrap();
    let (access, refresh) = (Token::new(Kind::Access, id).unwrap(), record.refresh_token(id).unwrap());
    record
        .seal(
            id,
            &key,
            &Sealed { person: "ada-lovelace".into(), known_as: "person-1".into(), cookies: b"sid=secret".to_vec() },
        )
        .unwrap();
    record.take(&key, (&access, 200, None), &refresh, 100).unwrap();
    (LinkRecord::read(&record.written()).unwrap(), id, key, access, refresh)
}

#[test]
fn only_its_own_tokens_open_a_link() {
    let (record, id, _, access, refresh) = made();
    let again = Token::parse(&access.text(), Kind::Access).unwrap();
    let link = record.open(id, record.opened_by(&again, 150).unwrap()).unwrap();
    assert_eq!((&*link.person, &link.cookies[..], link.until), ("ada-lovelace", &b"sid=secret"[..], 1000));
    assert_eq!(record.opened_by(&access, 200).unwrap_err(), Rejected::TokenExpired);
    assert!(link.is_idle(150) && Link { used: Some(100), ..link.clone() }.is_idle(160));
    assert!(!Link { used: Some(100), ..link }.is_idle(159));
    let other = Token::new(Kind::Access, id).unwrap();
    assert_eq!(record.opened_by(&other, 150).unwrap_err(), Rejected::TokenNotValid);
    assert!(record.refreshed_by(&refresh, 999).is_some() && record.refreshed_by(&refresh, 1000).is_none());
    assert!(record.refreshed_by(&other, 150).is_none());
    // The same sealed text under another link's id.
    let key = record.opened_by(&access, 150).unwrap();
    assert!(record.open(LinkId::new().unwrap(), key).is_none());
}

#[test]
fn a_token_is_of_one_issuer() {
    let (record, id, _, access, _) = made();
    let shelf = Shelf::default();
    let put = Put::Value(record.written(), std::time::Duration::from_secs(60));
    run(shelf.commit(&[Change { key: id.place(), expect: Expect::Absent, put }])).unwrap();
    let opened = |issuer| run(Link::open(&shelf, &access.text(), issuer));
    assert_eq!(opened("https://other.test").unwrap_err(), Rejected::TokenNotValid);
    // The clock of this store is the system's, so the token has ended.
    assert_eq!(opened(ISSUER).unwrap_err(), Rejected::TokenExpired);
}

#[test]
fn a_token_may_be_for_less_than_the_person_allowed() {
    let (mut record, id, key, first, _) = made();
    let consent = |id: &str| {
        let said = json!([{ "id": id, "acts": 1, "risk": 1, "confirmed": false, "request": "" }]);
        Consent::read_all(&said).unwrap()
    };
    record.capabilities = [consent("orders.list"), consent("orders.place")].concat();
    let (access, refresh) = (Token::new(Kind::Access, id).unwrap(), record.refresh_token(id).unwrap());
    record.take(&key, (&access, 300, Some(vec!["orders.list".into()])), &refresh, 120).unwrap();
    let record = LinkRecord::read(&record.written()).unwrap();
    let ids = |token: &Token| record.allowed_to(token).into_iter().map(|consent| consent.id).collect::<Vec<_>>();
    assert_eq!(ids(&access), ["orders.list"]);
    assert_eq!(ids(&first), ["orders.list", "orders.place"]);
}

#[test]
fn a_token_is_of_one_kind() {
    let (record, id, ..) = made();
    let refresh = record.refresh_token(id).unwrap();
    assert!(Token::parse(&refresh.text(), Kind::Refresh).is_some());
    assert!(Token::parse(&refresh.text().replace("fdrt_", "fdat_"), Kind::Access).is_none());
    let token = Token::new(Kind::Code, id).unwrap();
    assert!(Token::parse(&token.text(), Kind::Access).is_none());
    let as_access = token.text().replace("fdac_", "fdat_");
    assert_ne!(Token::parse(&as_access, Kind::Access).unwrap().hash(), token.hash());
    assert!(Token::is_like(token.text().as_bytes()) && !Token::is_like(b"fd_x"));
    for wrong in ["", "fdat_", "fdat_AAAA", "fdat_!!", &format!("{}A", as_access)] {
        assert!(Token::parse(wrong, Kind::Access).is_none(), "{wrong}");
    }
}

#[test]
fn rotation_leaves_one_refresh_token_and_few_access_tokens() {
    let (mut record, id, key, first, old) = made();
    for _ in 0..4 {
        let (access, refresh) = (Token::new(Kind::Access, id).unwrap(), record.refresh_token(id).unwrap());
        record.take(&key, (&access, 300, None), &refresh, 120).unwrap();
        assert!(record.opened_by(&access, 150).is_ok() && record.refreshed_by(&refresh, 150).is_some());
    }
    assert!(record.refreshed_by(&old, 150).is_none());
    let again = |token: &Token| Token::parse(&token.text(), Kind::Refresh).unwrap();
    assert!(record.has_given(&again(&old)), "an earlier one is known");
    let of_another =
        LinkRecord::new((ISSUER, "client"), ("Agent", true), &[], 100, 1000).unwrap().refresh_token(id).unwrap();
    assert!(!record.has_given(&again(&of_another)), "an invented one is not");
    assert!(record.opened_by(&first, 150).is_err(), "the oldest of too many");
}

#[test]
fn the_store_shows_no_token_no_cookie_and_no_person() {
    let (record, _, key, access, refresh) = made();
    let stored = String::from_utf8(record.written().to_vec()).unwrap();
    for secret in ["sid=secret", "ada-lovelace", &access.text()[30..], &refresh.text()[30..]] {
        assert!(!stored.contains(secret), "{secret}");
    }
    let shown = format!("{key:?} {access:?} {:?} {record:?}", record.open(access.id, key.clone()));
    assert!(!shown.contains("ada-lovelace") && !shown.contains("secret") && !shown.contains(&hex(access.id.bytes())));
}
