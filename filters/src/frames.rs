//! The wire format of AGTP, re-exported under a name that does not mention the protocol.

pub use frontdesk_agtp::wire::{Bounds, Frame, PROTOCOL, Reader, Refused, TOKEN, VERSION, Wants, write};
