//! What Frontdesk decides: everything that can be settled from a declaration and a request's head.
//!
//! This crate knows no proxy library and opens no socket. What it needs from outside (the environment, files)
//! comes in through small traits; what it decides goes out as values that the `frontdesk` crate carries out.

pub mod page;
pub mod site;
