//! How much a caller may: which limits hold for a request, and how they are told.

pub mod budget;
mod fields;
mod policy;
pub mod tokens;

pub use policy::{Counted, Held, Policies, Policy};
