//! Who is asking: what a connection and a request's head say about the one behind them.

pub mod forwarded;
