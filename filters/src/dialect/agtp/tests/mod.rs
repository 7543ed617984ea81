//! What is told to whole requests.

mod bargains;
mod gates;
mod lives;
mod published;
mod stall;
