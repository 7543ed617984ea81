//! Example Travel: a small, ordinary travel site in memory, for Frontdesk to stand in front of.
//!
//! It behaves like any older site: pages for people, and a JSON API for its own booking form. It is a pure function of
//! the request and of earlier bookings. It has no sockets, threads or files of its own, and knows nothing of Frontdesk.

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
