//! The offers of Example Travel: airports, fares and the search. All data is fixed, so that the same question always
//! gets the same answer.

use serde_json::{Value, json};

/// A destination.
#[derive(Debug, PartialEq, Eq)]
pub struct Airport {
    pub code: &'static str,
    pub city: &'static str,
}

/// One bookable flight. Times are local to the airport, with their offset; the price is in whole euros.
#[derive(Debug, PartialEq, Eq)]
pub struct Fare {
    pub id: &'static str,
    pub origin: &'static str,
    pub destination: &'static str,
    pub departure: &'static str,
    pub arrival: &'static str,
    pub airline: &'static str,
    pub stops: u8,
    pub minutes: u32,
    pub checked_baggage: bool,
    pub euros: u32,
}

/// The currency of all prices.
pub const CURRENCY: &str = "EUR";

/// All airports.
pub const AIRPORTS: [Airport; 7] = [
    Airport { code: "BER", city: "Berlin" },
    Airport { code: "CDG", city: "Paris" },
    Airport { code: "JFK", city: "New York" },
    Airport { code: "LHR", city: "London" },
    Airport { code: "LIS", city: "Lisbon" },
    Airport { code: "MAD", city: "Madrid" },
    Airport { code: "NRT", city: "Tokyo" },
];

/// One fare a row: number, from, to, departure, arrival, airline, stops, minutes, checked bag included, euros.
macro_rules! fares {
    ($($id:literal $from:ident $to:ident $departure:literal $arrival:literal $airline:literal
       $stops:literal $minutes:literal $bag:literal $euros:literal;)*) => {
        &[$(Fare {
            id: concat!("fare_", $id),
            origin: stringify!($from),
            destination: stringify!($to),
            departure: $departure,
            arrival: $arrival,
            airline: $airline,
            stops: $stops,
            minutes: $minutes,
            checked_baggage: $bag,
            euros: $euros,
        }),*]
    };
}

/// All fares.
pub const FARES: &[Fare] = fares! {
    101 MAD LIS "2027-07-03T07:15:00+02:00" "2027-07-03T07:35:00+01:00" "Lusitania Airways" 0   80 false   74;
    102 MAD LIS "2027-07-03T18:40:00+02:00" "2027-07-03T19:00:00+01:00" "Example Air"       0   80 true    96;
    103 MAD CDG "2027-07-03T09:05:00+02:00" "2027-07-03T11:10:00+02:00" "Example Air"       0  125 false  112;
    104 MAD CDG "2027-07-04T16:30:00+02:00" "2027-07-04T18:40:00+02:00" "Meridian"          0  130 true   139;
    105 MAD BER "2027-07-04T08:10:00+02:00" "2027-07-04T11:10:00+02:00" "Meridian"          0  180 false  128;
    106 MAD JFK "2027-07-04T11:50:00+02:00" "2027-07-04T14:10:00-04:00" "Atlantic Blue"     0  500 true   498;
    107 MAD JFK "2027-07-04T06:30:00+02:00" "2027-07-04T12:45:00-04:00" "Lusitania Airways" 1  735 false  389;
    123 MAD NRT "2027-07-04T10:20:00+02:00" "2027-07-05T08:30:00+09:00" "Example Air"       1  910 true   682;
    124 MAD NRT "2027-07-04T12:05:00+02:00" "2027-07-05T09:25:00+09:00" "Sakura Pacific"    0  860 true   914;
    125 MAD NRT "2027-07-05T06:45:00+02:00" "2027-07-06T10:50:00+09:00" "Meridian"          2 1265 false  597;
    126 MAD LHR "2027-07-05T13:20:00+02:00" "2027-07-05T14:50:00+01:00" "Example Air"       0  150 false  105;
    131 NRT MAD "2027-07-18T11:30:00+09:00" "2027-07-18T20:55:00+02:00" "Example Air"       1  985 true   701;
    132 NRT MAD "2027-07-18T22:15:00+09:00" "2027-07-19T05:55:00+02:00" "Sakura Pacific"    0  880 true   935;
    133 NRT LHR "2027-07-19T10:40:00+09:00" "2027-07-19T16:55:00+01:00" "Sakura Pacific"    0  855 true   842;
    134 NRT JFK "2027-07-19T17:00:00+09:00" "2027-07-19T16:55:00-04:00" "Sakura Pacific"    0  775 true  1018;
    141 LIS MAD "2027-07-10T10:00:00+01:00" "2027-07-10T12:15:00+02:00" "Lusitania Airways" 0   75 false   69;
    142 LIS JFK "2027-07-10T12:30:00+01:00" "2027-07-10T15:25:00-04:00" "Atlantic Blue"     0  475 true   452;
    143 LIS CDG "2027-07-10T07:50:00+01:00" "2027-07-10T11:20:00+02:00" "Lusitania Airways" 0  150 false  118;
    144 LIS NRT "2027-07-11T09:25:00+01:00" "2027-07-12T11:35:00+09:00" "Meridian"          1 1090 true   748;
    151 JFK MAD "2027-07-17T19:30:00-04:00" "2027-07-18T08:35:00+02:00" "Atlantic Blue"     0  425 true   512;
    152 JFK LIS "2027-07-17T22:10:00-04:00" "2027-07-18T09:50:00+01:00" "Atlantic Blue"     0  400 false  437;
    153 JFK CDG "2027-07-17T18:20:00-04:00" "2027-07-18T07:40:00+02:00" "Atlantic Blue"     0  440 true   529;
    161 CDG NRT "2027-07-06T13:35:00+02:00" "2027-07-07T10:20:00+09:00" "Sakura Pacific"    0  825 true   887;
    162 CDG JFK "2027-07-06T10:15:00+02:00" "2027-07-06T12:40:00-04:00" "Atlantic Blue"     0  505 false  476;
    163 CDG MAD "2027-07-11T20:45:00+02:00" "2027-07-11T22:50:00+02:00" "Example Air"       0  125 false  109;
    171 BER MAD "2027-07-12T12:00:00+02:00" "2027-07-12T15:05:00+02:00" "Meridian"          0  185 false  131;
    172 BER LIS "2027-07-12T06:20:00+02:00" "2027-07-12T09:05:00+01:00" "Lusitania Airways" 0  225 false  144;
    181 LHR NRT "2027-07-08T11:10:00+01:00" "2027-07-09T09:00:00+09:00" "Sakura Pacific"    0  830 true   868;
};

/// The airport with this code or in this city, however it is capitalised.
pub fn airport(name: &str) -> Option<&'static Airport> {
    let name = name.trim();
    AIRPORTS.iter().find(|airport| airport.code.eq_ignore_ascii_case(name) || airport.city.eq_ignore_ascii_case(name))
}

/// The fare with this id.
pub fn fare(id: &str) -> Option<&'static Fare> {
    FARES.iter().find(|fare| fare.id == id)
}

/// The search criteria of a traveller. `None` matches everything.
#[derive(Debug, Default)]
pub struct Search {
    pub origin: Option<&'static Airport>,
    pub destination: Option<&'static Airport>,
    pub max_price: Option<f64>,
    pub max_stops: Option<u8>,
    pub checked_baggage: Option<bool>,
}

impl Search {
    /// The matching fares, cheapest first.
    pub fn run(&self) -> Vec<&'static Fare> {
        let mut found: Vec<_> = FARES.iter().filter(|fare| self.fits(fare)).collect();
        found.sort_by_key(|fare| fare.euros);
        found
    }

    fn fits(&self, fare: &Fare) -> bool {
        self.origin.is_none_or(|airport| airport.code == fare.origin)
            && self.destination.is_none_or(|airport| airport.code == fare.destination)
            && self.max_price.is_none_or(|limit| f64::from(fare.euros) <= limit)
            && self.max_stops.is_none_or(|limit| fare.stops <= limit)
            && (self.checked_baggage != Some(true) || fare.checked_baggage)
    }
}

impl Fare {
    /// The fare as the API shows it.
    pub fn json(&self) -> Value {
        json!({
            "id": self.id,
            "origin": self.origin,
            "destination": self.destination,
            "departure_time": self.departure,
            "arrival_time": self.arrival,
            "airline": self.airline,
            "stops": self.stops,
            "duration_minutes": self.minutes,
            "checked_baggage_included": self.checked_baggage,
            "price": self.price(),
        })
    }

    /// The price as the API shows it.
    pub fn price(&self) -> Value {
        json!({ "amount": self.euros, "currency": CURRENCY })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Minutes since the start of the month, in UTC, of "2027-07-04T10:20:00+02:00".
    fn utc_minutes(text: &str) -> i64 {
        let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
        let offset = number(20..22) * 60 + number(23..25);
        let local = (number(8..10) * 24 + number(11..13)) * 60 + number(14..16);
        if &text[19..20] == "+" { local - offset } else { local + offset }
    }

    #[test]
    fn the_timetable_is_sound() {
        let ids: BTreeSet<_> = FARES.iter().map(|fare| fare.id).collect();
        assert_eq!(ids.len(), FARES.len());
        for fare in FARES {
            assert!(airport(fare.origin).is_some() && airport(fare.destination).is_some(), "{}", fare.id);
            assert_ne!(fare.origin, fare.destination, "{}", fare.id);
            assert_eq!(utc_minutes(fare.arrival) - utc_minutes(fare.departure), i64::from(fare.minutes), "{}", fare.id);
        }
        let known = fare("fare_123").unwrap();
        assert_eq!((known.origin, known.destination, known.euros), ("MAD", "NRT", 682));
    }

    #[test]
    fn a_search_narrows_and_sorts_by_price() {
        let mut search = Search { origin: airport("madrid"), destination: airport("nrt"), ..Search::default() };
        let ids = |search: &Search| search.run().iter().map(|fare| fare.id).collect::<Vec<_>>();
        assert_eq!(ids(&search), ["fare_125", "fare_123", "fare_124"]);
        search.max_price = Some(682.0);
        assert_eq!(ids(&search), ["fare_125", "fare_123"]);
        search.checked_baggage = Some(true);
        assert_eq!(ids(&search), ["fare_123"]);
        search.max_stops = Some(0);
        assert!(ids(&search).is_empty());
        assert_eq!(Search::default().run().len(), FARES.len());
    }
}
