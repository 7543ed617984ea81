//! What is told to whole requests.

mod around;
mod bargains;
mod gates;
mod lives;
mod published;
mod stall;
