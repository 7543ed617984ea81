//! Example Travel: a small, ordinary travel site held in memory, there to be stood in front of.
//!
//! It behaves as any site would that was written years ago: pages for people and a JSON API for its own booking form.
//! It is a pure function of the request and of the few things that were booked before. No sockets, no threads, no
//! files; and not a word of who stands in front.

mod assets;
mod bookings;
mod flights;
mod form;
mod pages;
mod reply;
mod server;
mod site;

pub use server::Server;
pub use site::Travel;
