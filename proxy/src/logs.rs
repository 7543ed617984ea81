//! The operator's log on standard error, with a level that can be changed at runtime.

use std::{str::FromStr, sync::Arc};

use tracing::{Level, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    Registry, filter::Targets, layer::SubscriberExt, registry::LookupSpan, reload, util::SubscriberInitExt,
};

/// The handle to change the level.
#[derive(Clone)]
pub struct Logs(Arc<reload::Handle<Targets, Registry>>);

impl Logs {
    /// Starts logging, once for each process. The level is info until a configuration sets another one.
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
        // Lines of libraries come through the `log` crate, which filters first.
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

/// The highest level of libraries: below info they log heads, bodies and credentials.
const LIBRARIES: LevelFilter = LevelFilter::INFO;

/// Modules of the proxy library whose errors contain the data they were reading. Our own lines about failed requests
/// say more, without that data.
const SILENT: [&str; 3] = ["pingora_proxy", "pingora_core::protocols", "pingora_core::apps"];

/// Our own lines at the configured level. Lines of libraries from warn on; at debug and trace from info on.
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
