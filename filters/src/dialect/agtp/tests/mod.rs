//! What is told to whole requests.

mod bargains;
mod lives;
mod published;
mod stall;
