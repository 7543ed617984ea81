//! What is told to whole requests.

mod lives;
mod stall;
