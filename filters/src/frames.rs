//! The protocol that is spoken on a socket of its own, under a name that whoever moves its bytes may say.

pub use frontdesk_agtp::wire::{Bounds, Frame, PROTOCOL, Reader, Refused, TOKEN, VERSION, Wants, write};
