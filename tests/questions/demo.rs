//! The demo site without its server, as a function of the request.

#![allow(dead_code, unreachable_pub)]

#[path = "../../proxy/src/demo/assets.rs"]
mod assets;
#[path = "../../proxy/src/demo/bookings.rs"]
mod bookings;
#[path = "../../proxy/src/demo/flights.rs"]
mod flights;
#[path = "../../proxy/src/demo/form.rs"]
mod form;
#[path = "../../proxy/src/demo/pages.rs"]
mod pages;
#[path = "../../proxy/src/demo/reply.rs"]
mod reply;
#[path = "../../proxy/src/demo/site.rs"]
mod site;

pub use pages::PAGES;
pub use site::Travel;
