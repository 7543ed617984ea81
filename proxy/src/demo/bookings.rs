//! The demo site's price watches, holds and bookings. It keeps a limited number of each; the oldest makes room.

use std::{
    collections::BTreeMap,
    time::{Duration, UNIX_EPOCH},
};

use frontdesk_base::date::rfc3339;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{
    flights::{self, CURRENCY, Fare},
    form::{Form, euros},
    reply::Reply,
};

/// The most watches, holds and bookings, of each.
const MOST_KEPT: usize = 10_000;
/// How long a held fare stays reserved.
const HOLD_SECONDS: u64 = 30 * 60;
/// How long a booking can be cancelled without a fee.
const FREE_CANCELLATION_SECONDS: u64 = 24 * 60 * 60;
/// The later cancellation fee in euros.
const CANCELLATION_FEE: u32 = 60;

/// Numbered records of one kind. Numbers only grow, so the smallest is the oldest.
struct Shelf<T> {
    prefix: &'static str,
    next: u64,
    records: BTreeMap<u64, T>,
}

impl<T> Shelf<T> {
    fn new(prefix: &'static str) -> Self {
        Self { prefix, next: 1001, records: BTreeMap::new() }
    }

    /// Keeps a record and returns its id.
    fn add(&mut self, record: T) -> String {
        if self.records.len() >= MOST_KEPT {
            self.records.pop_first();
        }
        let number = self.next;
        self.next += 1;
        self.records.insert(number, record);
        format!("{}_{number}", self.prefix)
    }

    /// The number in an id of this kind, if it is spelled exactly as it was given out.
    fn number(&self, id: &str) -> Option<u64> {
        let digits = id.strip_prefix(self.prefix)?.strip_prefix('_')?;
        digits.parse().ok().filter(|number: &u64| number.to_string() == digits)
    }

    fn get_mut(&mut self, id: &str) -> Result<&mut T, Reply> {
        let missing = not_found(self.prefix);
        self.number(id).and_then(|number| self.records.get_mut(&number)).ok_or(missing)
    }

    fn remove(&mut self, id: &str) -> Result<T, Reply> {
        self.number(id).and_then(|number| self.records.remove(&number)).ok_or_else(|| not_found(self.prefix))
    }
}

struct Watch {
    fare: &'static Fare,
    threshold: f64,
    created: u64,
}

struct Hold {
    fare: &'static Fare,
    expires: u64,
    booked: bool,
}

/// A booking. The traveller's name, address and payment are checked and then dropped: nothing personal is kept.
struct Booking {
    fare: &'static Fare,
    made: u64,
    cancelled: bool,
}

/// The office behind the API. Each method answers one call; `now` is in seconds since 1970.
pub struct Bookings {
    watches: Shelf<Watch>,
    holds: Shelf<Hold>,
    bookings: Shelf<Booking>,
}

impl Bookings {
    pub fn new() -> Self {
        Self { watches: Shelf::new("watch"), holds: Shelf::new("hold"), bookings: Shelf::new("booking") }
    }

    /// `POST /api/watches`
    pub fn watch(&mut self, input: &Map<String, Value>, now: u64) -> Result<Reply, Reply> {
        let mut form = Form::new(input);
        let (fare_id, threshold) = (form.text("fare_id"), form.threshold());
        form.check()?;
        let id = self.watches.add(Watch { fare: known_fare(fare_id)?, threshold, created: now });
        Ok(created("watches", &id, &self.watch_status(&id)?))
    }

    /// `GET /api/watches/{id}`
    pub fn watch_status(&mut self, id: &str) -> Result<Value, Reply> {
        let watch = self.watches.get_mut(id)?;
        let reached = f64::from(watch.fare.euros) <= watch.threshold;
        Ok(json!({
            "watch_id": id,
            "fare_id": watch.fare.id,
            "threshold": { "amount": euros(watch.threshold), "currency": CURRENCY },
            "current_price": watch.fare.price(),
            "status": if reached { "triggered" } else { "watching" },
            "created_at": moment(watch.created),
        }))
    }

    /// `DELETE /api/watches/{id}`
    pub fn unwatch(&mut self, id: &str) -> Result<Reply, Reply> {
        self.watches.remove(id)?;
        Ok(Reply::new(StatusCode::NO_CONTENT, "application/json", ""))
    }

    /// `POST /api/holds`
    pub fn hold(&mut self, input: &Map<String, Value>, now: u64) -> Result<Reply, Reply> {
        let mut form = Form::new(input);
        let fare_id = form.text("fare_id");
        form.check()?;
        let id = self.holds.add(Hold { fare: known_fare(fare_id)?, expires: now + HOLD_SECONDS, booked: false });
        Ok(created("holds", &id, &self.hold_status(&id, now)?))
    }

    /// `GET /api/holds/{id}`
    pub fn hold_status(&mut self, id: &str, now: u64) -> Result<Value, Reply> {
        let hold = self.holds.get_mut(id)?;
        let status = match hold.booked {
            true => "booked",
            false if hold.expires <= now => "expired",
            false => "held",
        };
        let expires_at = moment(hold.expires);
        let (fare_id, price) = (hold.fare.id, hold.fare.price());
        Ok(json!({ "hold_id": id, "fare_id": fare_id, "price": price, "expires_at": expires_at, "status": status }))
    }

    /// `POST /api/purchases`
    pub fn purchase(&mut self, input: &Map<String, Value>, now: u64) -> Result<Reply, Reply> {
        let mut form = Form::new(input);
        let (hold_id, payment) = (form.text("hold_id"), form.text("payment_token"));
        form.text("full_name");
        form.email("email");
        form.check()?;
        let hold = self.holds.get_mut(hold_id)?;
        if hold.booked {
            return Err(Reply::error(StatusCode::CONFLICT, "already_booked", "This hold has been booked already."));
        }
        if hold.expires <= now {
            return Err(Reply::error(StatusCode::GONE, "hold_expired", "This hold has expired. Hold the fare again."));
        }
        if payment == "tok_declined" {
            let message = "The payment was declined. Nothing was charged.";
            return Err(Reply::error(StatusCode::PAYMENT_REQUIRED, "payment_declined", message));
        }
        hold.booked = true;
        let booking = Booking { fare: hold.fare, made: now, cancelled: false };
        let id = self.bookings.add(booking);
        Ok(created("bookings", &id, &self.booking(&id)?))
    }

    /// `GET /api/bookings/{id}`
    pub fn booking(&mut self, id: &str) -> Result<Value, Reply> {
        let booking = self.bookings.get_mut(id)?;
        Ok(json!({
            "booking_id": id,
            "fare_id": booking.fare.id,
            "price": booking.fare.price(),
            "booked_at": moment(booking.made),
            "status": if booking.cancelled { "cancelled" } else { "ticketed" },
        }))
    }

    /// `POST /api/bookings/{id}/cancel`
    pub fn cancel(&mut self, id: &str, now: u64) -> Result<Value, Reply> {
        let booking = self.bookings.get_mut(id)?;
        if booking.cancelled {
            return Err(Reply::error(StatusCode::CONFLICT, "already_cancelled", "This booking is cancelled already."));
        }
        booking.cancelled = true;
        let fee = if now - booking.made.min(now) < FREE_CANCELLATION_SECONDS { 0 } else { CANCELLATION_FEE };
        let refund = json!({ "amount": booking.fare.euros.saturating_sub(fee), "currency": CURRENCY });
        Ok(json!({ "booking_id": id, "status": "cancelled", "refund": refund }))
    }
}

fn known_fare(id: &str) -> Result<&'static Fare, Reply> {
    flights::fare(id).ok_or_else(|| not_found("fare"))
}

fn not_found(kind: &str) -> Reply {
    Reply::error(StatusCode::NOT_FOUND, &format!("{kind}_not_found"), &format!("There is no such {kind}."))
}

/// A moment as the API writes it, from seconds since 1970.
fn moment(seconds: u64) -> String {
    rfc3339(UNIX_EPOCH + Duration::from_secs(seconds))
}

fn created(collection: &str, id: &str, body: &Value) -> Reply {
    Reply::json(StatusCode::CREATED, body).at(format!("/api/{collection}/{id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn body(reply: &Reply) -> Value {
        serde_json::from_slice(&reply.body).unwrap()
    }

    fn order(hold_id: &str, token: &str) -> Map<String, Value> {
        let email = "ana@example.org";
        input(json!({ "hold_id": hold_id, "payment_token": token, "full_name": "Ana Ruiz", "email": email }))
    }

    #[test]
    fn a_hold_is_bought_once_and_cancelled_once() {
        let mut office = Bookings::new();
        let hold = office.hold(&input(json!({ "fare_id": "fare_123" })), 0).unwrap();
        assert_eq!(hold.status, StatusCode::CREATED);
        assert_eq!(body(&hold)["expires_at"], "1970-01-01T00:30:00Z");
        let declined = office.purchase(&order("hold_1001", "tok_declined"), 1).unwrap_err();
        assert_eq!(declined.status, StatusCode::PAYMENT_REQUIRED);
        let booking = body(&office.purchase(&order("hold_1001", "tok_visa"), 2).unwrap());
        assert_eq!((&booking["status"], &booking["booking_id"]), (&json!("ticketed"), &json!("booking_1001")));
        assert_eq!(office.hold_status("hold_1001", 9_999).unwrap()["status"], "booked");
        let again = office.purchase(&order("hold_1001", "tok_visa"), 3).unwrap_err();
        assert_eq!(again.status, StatusCode::CONFLICT);
        assert_eq!(office.cancel("booking_1001", 4).unwrap()["refund"]["amount"], 682);
        assert_eq!(office.cancel("booking_1001", 5).unwrap_err().status, StatusCode::CONFLICT);
        assert_eq!(office.booking("booking_1001").unwrap()["status"], "cancelled");
    }

    #[test]
    fn time_runs_out() {
        let mut office = Bookings::new();
        let fare = input(json!({ "fare_id": "fare_101" }));
        office.hold(&fare, 0).unwrap();
        let over = office.hold_status("hold_1001", HOLD_SECONDS).unwrap();
        assert_eq!((&over["status"], &over["expires_at"]), (&json!("expired"), &json!("1970-01-01T00:30:00Z")));
        let late = office.purchase(&order("hold_1001", "tok"), HOLD_SECONDS).unwrap_err();
        assert_eq!(late.status, StatusCode::GONE);
        office.hold(&fare, 0).unwrap();
        office.purchase(&order("hold_1002", "tok"), 0).unwrap();
        assert_eq!(office.cancel("booking_1001", FREE_CANCELLATION_SECONDS).unwrap()["refund"]["amount"], 14);
    }

    #[test]
    fn every_wrong_field_is_named() {
        let mut office = Bookings::new();
        let wrong = office.purchase(&input(json!({ "full_name": " ", "email": "nobody" })), 0).unwrap_err();
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        let names: Vec<_> = body(&wrong)["fields"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(names, ["email", "full_name", "hold_id", "payment_token"]);
        for threshold in [json!(null), json!(-1), json!("700"), json!({ "amount": 700, "currency": "USD" })] {
            let watch = input(json!({ "fare_id": "fare_123", "threshold": threshold }));
            assert_eq!(office.watch(&watch, 0).unwrap_err().status, StatusCode::UNPROCESSABLE_ENTITY);
        }
        assert_eq!(body(&office.hold(&input(json!({ "fare_id": "x" })), 0).unwrap_err())["error"], "fare_not_found");
    }

    #[test]
    fn watches_come_and_go() {
        let mut office = Bookings::new();
        let money = json!({ "amount": 700, "currency": "EUR" });
        let watch = body(&office.watch(&input(json!({ "fare_id": "fare_123", "threshold": money })), 0).unwrap());
        assert_eq!((&watch["status"], &watch["threshold"]), (&json!("triggered"), &money));
        office.watch(&input(json!({ "fare_id": "fare_123", "threshold": 600.5 })), 0).unwrap();
        assert_eq!(office.watch_status("watch_1002").unwrap()["status"], "watching");
        assert_eq!(office.unwatch("watch_1001").unwrap().status, StatusCode::NO_CONTENT);
        for id in ["watch_1001", "watch_01002", "watch_+1002", "hold_1002", ""] {
            assert_eq!(office.watch_status(id).unwrap_err().status, StatusCode::NOT_FOUND, "{id}");
        }
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut shelf = Shelf::new("thing");
        for n in 0..=MOST_KEPT {
            shelf.add(n);
        }
        assert_eq!(shelf.records.len(), MOST_KEPT);
        assert!(shelf.get_mut("thing_1001").is_err() && shelf.get_mut("thing_1002").is_ok());
    }
}
