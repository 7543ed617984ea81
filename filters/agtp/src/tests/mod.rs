//! Answers to complete requests.

mod around;
mod bargains;
mod gates;
mod lives;
mod published;
mod stall;
