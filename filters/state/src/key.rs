//! Keys of counters: a class and a subject in 128 bits.
//!
//! The size is fixed, so that no client can make a key long. It contains no name, so a store reveals no secrets.

use std::net::IpAddr;

use ring::digest;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// `rate_limits.anonymous`.
    Anonymous = 1,
    /// `rate_limits.authenticated`, or an API key's own `rate_limit`.
    Authenticated,
    /// `rate_limits.actions`.
    Actions,
    /// `rate_limits.content`.
    Content,
    /// `rate_limits.per_agent`.
    PerAgent,
    /// `rate_limits.site`.
    Site,
    /// `token_budget` of a session.
    Session,
    /// `token_budget.daily`.
    Daily,
    /// A signature's nonce: once.
    Nonce,
    /// Negotiation at run time: attempts, and refused proposals.
    Negotiation,
    /// Invalid credentials.
    Guesses,
    /// Kilobytes of files that wait for the caller.
    Files,
    /// What people and agents ask the authorization server for.
    Links,
}

/// What the loss of a counter means when there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A rate limit starts anew.
    Rate,
    /// A spent budget can be spent again.
    Budget,
    /// A single-use value can be used twice.
    Once,
}

/// The subject of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject(u128);

/// The bits of a subject, below those of the class.
const SUBJECT_BITS: u32 = 112;

impl Subject {
    /// A client address; for IPv6 its /64, which is what one client has.
    pub fn address(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(v4) => 4 << 96 | u128::from(v4.to_bits()),
            IpAddr::V6(v6) => 6 << 96 | v6.to_bits() >> 64,
        })
    }

    /// Its bytes for the keys of records.
    pub fn bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The same subject with a claimed name.
    pub fn claiming(self, name: &str) -> Self {
        Self::named(&[b"claim", &self.0.to_be_bytes(), name.as_bytes()])
    }

    /// The same subject together with another.
    pub fn with(self, other: Self) -> Self {
        Self::named(&[b"with", &self.0.to_be_bytes(), &other.0.to_be_bytes()])
    }

    /// A named subject, from length-separated parts. A digest has its top bit set, so it cannot collide with an
    /// address.
    pub fn named(parts: &[&[u8]]) -> Self {
        let mut context = digest::Context::new(&digest::SHA256);
        for part in parts {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        let digest = context.finish();
        let bits = digest.as_ref().iter().take(14).fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
        Self(bits | 1 << (SUBJECT_BITS - 1))
    }
}

/// A class and a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u128);

impl Key {
    /// No subject.
    pub const NONE: Self = Self(0);

    /// Whether it is single-use (a nonce), so that its loss is the gravest.
    pub fn is_once(self) -> bool {
        self.0 >> SUBJECT_BITS == Class::Nonce as u128
    }

    /// What its loss would mean.
    pub(super) fn kind(self) -> Kind {
        const BUDGETS: [u128; 2] = [Class::Session as u128, Class::Daily as u128];
        match self.0 >> SUBJECT_BITS {
            _ if self.is_once() => Kind::Once,
            class if BUDGETS.contains(&class) => Kind::Budget,
            _ => Kind::Rate,
        }
    }

    /// The counter of a class for a subject.
    pub fn new(class: Class, subject: Subject) -> Self {
        Self((class as u128) << SUBJECT_BITS | subject.0)
    }

    /// The same bits in every process, for shared stores.
    pub fn bits(self) -> u128 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_of_ipv6_has_a_whole_64() {
        let of = |text: &str| Subject::address(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        // The /64 whose bits are those of an IPv4 address.
        assert_ne!(of("0:0:c000:201::"), of("192.0.2.1"));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(Subject::named(&[b"a", b"bc"]), Subject::named(&[b"ab", b"c"]));
        let somebody = Subject::named(&[b"a"]);
        assert_ne!(Key::new(Class::Actions, somebody), Key::new(Class::Authenticated, somebody));
    }
}
