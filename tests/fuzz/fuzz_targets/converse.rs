//! The fuzzer's way to questions: the readers' own sources, and in the place of what is told whoever asks wrongly no more
//! than what that is called.

#![no_main]
#![allow(dead_code, reason = "parts of what is included are for others")]

use frontdesk_base::{exact, strict};
use libfuzzer_sys::fuzz_target;

#[path = "../invariants/dice.rs"]
mod dice;
#[path = "../invariants/converse.rs"]
mod invariants;
#[path = "../../../filters/dialects/src/ahp/question.rs"]
mod question;

mod said {
    use serde_json::{Value, json};

    pub(crate) struct Said {
        pub(crate) body: Value,
    }

    impl Said {
        pub(crate) fn wrong(_: &str) -> Box<Self> {
            Box::new(Self { body: json!({ "code": "invalid_request" }) })
        }

        pub(crate) fn missing(_: &str) -> Box<Self> {
            Box::new(Self { body: json!({ "code": "missing_field" }) })
        }
    }
}

fuzz_target!(|data: &[u8]| invariants::hold(data));
