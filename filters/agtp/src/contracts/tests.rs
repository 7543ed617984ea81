//! What is stored of contracts.

use serde_json::{Value, json};

use super::*;
use crate::{
    contract::{Origin, hash},
    source::Source,
};
use frontdesk_state::testing::{Shelf, Shelving, run};

const TTL: Duration = Duration::from_secs(3600);

fn contract(number: usize, holder: &str, bound: Bound) -> Contract {
    let endpoint = json!({ "method": "BOOK", "path": "/room" });
    Contract {
        id: format!("{number:032x}"),
        agent: "a".repeat(64),
        holder: holder.to_owned(),
        origin: Origin::Propose,
        bound,
        method: "BOOK".into(),
        path: "/room".into(),
        places: vec![("room".into(), "7".into())],
        source: Source::Capability("rooms.book".into()),
        hash: hash(&endpoint, &Value::Null),
        endpoint,
        issued: seconds(),
        until: seconds() + 3600,
        ended: None,
    }
}

#[test]
fn what_is_kept_is_found_as_it_was_until_it_ends() {
    let shelf = Shelf::default();
    let contracts = Contracts::in_records(&shelf, TTL);
    let mine = contract(1, "one", Bound::Session("s".into()));
    run(contracts.keep(&mine, false)).unwrap();
    run(contracts.keep(&contract(2, "two", Bound::Agent), false)).unwrap();
    assert_eq!(run(contracts.find(&mine.id)).unwrap(), Some(mine.clone()));
    let ids = |entries: Vec<Entry>| entries.into_iter().map(|entry| entry.id).collect::<Vec<_>>();
    assert_eq!(ids(run(contracts.entries("one")).unwrap()), [mine.id.as_str()]);
    assert_eq!(run(contracts.all()).unwrap().len(), 2);
    // An id can address no other record.
    for id in ["", "all", "of:one", "public", &mine.id[1..], &mine.id.to_uppercase().replace('0', "G")] {
        assert_eq!(run(contracts.find(id)).unwrap(), None, "{id}");
    }
    assert!(run(contracts.end(&mine.id, Some(Ending::Released))).unwrap());
    assert!(!run(contracts.end(&mine.id, Some(Ending::Revoked))).unwrap(), "it is over already");
    let ended = run(contracts.find(&mine.id)).unwrap().unwrap();
    assert_eq!((ended.ended, ended.is_over(0)), (Some(Ending::Released), true));
    assert!(run(contracts.entries("one")).unwrap().is_empty());
    // A swept contract leaves no trace.
    assert!(run(contracts.end(&format!("{:032x}", 2), None)).unwrap());
    assert_eq!(shelf.kept.lock().keys().collect::<Vec<_>>(), [&key(&mine.id)]);
}

#[test]
fn there_is_room_for_so_many() {
    let shelf = Shelf::default();
    let contracts = Contracts::in_records(&shelf, TTL);
    let keep = |number: usize, holder: &str, public| {
        let bound = if public { Bound::Anybody } else { Bound::Agent };
        run(contracts.keep(&contract(number, holder, bound), public))
    };
    for number in 0..MOST_OF_ONE {
        keep(number, "one", true).unwrap();
    }
    assert_eq!(keep(5000, "one", false), Err(NotMade::TooManyOfOne));
    assert_eq!(keep(5000, "two", true), Err(NotMade::TooMany), "the manifest has a bound of its own");
    for number in MOST_OF_ONE..MOST {
        keep(number, &format!("holder {}", number / 50), false).unwrap();
    }
    assert_eq!(keep(5000, "two", false), Err(NotMade::TooMany));
    // An ended contract takes no room.
    assert!(run(contracts.end(&format!("{:032x}", 7), Some(Ending::Revoked))).unwrap());
    keep(5000, "two", true).unwrap();
    let mut large = contract(6000, "three", Bound::Agent);
    large.endpoint["description"] = "x".repeat(LONGEST).into();
    assert_eq!(run(contracts.keep(&large, false)), Err(NotMade::TooLong));
}

#[test]
fn the_list_of_what_is_public_is_read_when_it_is_another() {
    let shelf = Shelf::default();
    let contracts = Contracts::in_records(&shelf, TTL);
    let (version, none) = run(contracts.public(None)).unwrap().unwrap();
    assert!(none.is_empty());
    assert_eq!(run(contracts.public(Some(version))).unwrap(), None);
    run(contracts.keep(&contract(1, "one", Bound::Agent), false)).unwrap();
    assert_eq!(run(contracts.public(Some(version))).unwrap(), None, "somebody's own is nobody else's");
    run(contracts.keep(&contract(2, "one", Bound::Anybody), true)).unwrap();
    let (version, one) = run(contracts.public(Some(version))).unwrap().unwrap();
    assert_eq!(one.len(), 1);
    run(contracts.end(&one[0].id, Some(Ending::Revoked))).unwrap();
    assert_eq!(run(contracts.public(Some(version))).unwrap().unwrap().1, []);
}

#[test]
fn where_nothing_can_be_kept_there_is_nothing() {
    let shelf = Shelf::default();
    let contracts = Contracts::in_records(&shelf, TTL);
    let one = contract(1, "one", Bound::Agent);
    for (state, why) in [(Shelving::Away, NotKept::Away), (Shelving::Full, NotKept::Full)] {
        *shelf.state.lock() = state;
        assert_eq!(run(contracts.keep(&one, false)), Err(NotMade::NotKept(why)));
    }
    *shelf.state.lock() = Shelving::Away;
    assert_eq!(run(contracts.find(&one.id)), Err(NotKept::Away));
    assert_eq!(run(contracts.entries("one")), Err(NotKept::Away));
}
