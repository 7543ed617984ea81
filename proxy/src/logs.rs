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
            Level::TRACE => log::LevelFilter::Trace,
            Level::DEBUG => log::LevelFilter::Debug,
            Level::INFO => log::LevelFilter::Info,
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

/// Our own lines at the level; the libraries' from warnings on. What the proxy library says of failed requests we say
/// ourselves, once and with more to go by; below info its lines are there too.
fn targets(level: Level) -> Targets {
    if level > Level::INFO {
        return Targets::new().with_default(level);
    }
    Targets::new()
        .with_default(LevelFilter::WARN.min(level.into()))
        .with_target("frontdesk", level)
        .with_target("pingora_proxy", LevelFilter::OFF)
        .with_target("pingora_core::protocols", LevelFilter::OFF)
}
