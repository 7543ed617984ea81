//! The fuzzer's way to message signatures: through the decision about a request's head.

#![no_main]

use frontdesk_filters::{Learned, Request, Snapshot, caller, decide, state};
use libfuzzer_sys::fuzz_target;

#[path = "../invariants/dice.rs"]
mod dice;
#[path = "../invariants/signatures.rs"]
mod invariants;

/// The declaration's reader, and an outside with nothing in it.
mod site {
    pub use frontdesk_filters::site::declare_text;

    pub mod testing {
        pub use frontdesk_filters::site::Nowhere;
    }
}

fuzz_target!(|data: &[u8]| invariants::hold(data));
