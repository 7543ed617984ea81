//! The log: words for the operator on standard error, at a level that can be changed while running.

use std::{str::FromStr, sync::Arc};

use tracing::{Level, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    Registry, filter::Targets, layer::SubscriberExt, registry::LookupSpan, reload, util::SubscriberInitExt,
};

/// The log's level, changeable.
#[derive(Clone)]
pub struct Logs(Arc<reload::Handle<Targets, Registry>>);

impl Logs {
    /// Starts logging, once a process. Until a configuration says otherwise the level is info.
    pub fn start() -> Self {
        let (filter, handle) = reload::Layer::new(targets(Level::INFO));
        let lines = line_layer();
        let subscriber = tracing_subscriber::registry().with(tracing_subscriber::Layer::with_filter(lines, filter));
        let _ = subscriber.try_init();
        Self(Arc::new(handle))
    }

    /// Sets the level: trace, debug, info, warn or error.
    pub fn set_level(&self, level: &str) -> Result<(), String> {
        let level = Level::from_str(level)
            .map_err(|_| format!("{level:?} is not a level; use trace, debug, info, warn or error."))?;
        self.0.reload(targets(level)).map_err(|e| e.to_string())?;
        // Lines of libraries come through the `log` crate, which filters before.
        log::set_max_level(match level {
            Level::TRACE | Level::DEBUG | Level::INFO => log::LevelFilter::Info,
            Level::WARN => log::LevelFilter::Warn,
            Level::ERROR => log::LevelFilter::Error,
        });
        Ok(())
    }
}

fn line_layer<S>() -> impl tracing_subscriber::Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    tracing_subscriber::fmt::layer().with_ansi(false).with_target(false).with_writer(std::io::stderr)
}

/// What the libraries may say at most, whatever the level: below it they write down heads, bodies and credentials.
const LIBRARIES: LevelFilter = LevelFilter::INFO;

/// Parts of the proxy library that put what they were reading into their errors. What they say of failed requests we say
/// ourselves, once, without that, and with more to go by.
const SILENT: [&str; 3] = ["pingora_proxy", "pingora_core::protocols", "pingora_core::apps"];

/// Our own lines at the level; the libraries' from warnings on, at debug and trace from info on.
fn targets(level: Level) -> Targets {
    let libraries = if level > Level::INFO { LIBRARIES } else { LevelFilter::WARN.min(level.into()) };
    let ours = Targets::new().with_default(libraries).with_target("frontdesk", level);
    SILENT.into_iter().fold(ours, |targets, silent| targets.with_target(silent, LevelFilter::OFF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_library_says_what_it_reads() {
        let all = targets(Level::TRACE);
        assert!(all.would_enable("frontdesk::front", &Level::TRACE));
        assert!(all.would_enable("frontdesk_filters::firewall", &Level::TRACE));
        for library in ["pingora_proxy", "pingora_core::protocols::http::v1::client", "pingora_core::apps::http_app"] {
            assert!(!all.would_enable(library, &Level::ERROR), "{library}");
        }
        for library in ["pingora_core::server", "h2::codec::framed_read", "rustls::client", "redis", "tungstenite"] {
            assert!(all.would_enable(library, &Level::WARN), "{library}");
            assert!(!all.would_enable(library, &Level::DEBUG), "{library}");
        }
        assert!(!targets(Level::ERROR).would_enable("frontdesk", &Level::WARN));
    }
}
