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
        use std::{io, path::Path};

        pub struct Nowhere;

        impl frontdesk_filters::site::Outside for Nowhere {
            fn var(&self, _: &str) -> Option<String> {
                None
            }

            fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
                Err(io::ErrorKind::NotFound.into())
            }

            fn is_dir(&self, _: &Path) -> bool {
                false
            }
        }
    }
}

fuzz_target!(|data: &[u8]| invariants::hold(data));
