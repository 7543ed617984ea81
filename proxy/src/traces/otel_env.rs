//! Reads the standard OTEL_* environment variables, and reports mistakes in them.
//!
//! The library ignores invalid values silently. This module reports each mistake and its remedy.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use opentelemetry_sdk::trace::Sampler;
use url::Url;

/// The conventional URL of a collector on this host.
const LOCAL: &str = "http://localhost:4318";
/// The most queued spans; a thousand of them take 2 MB.
const MOST_WAITING: u64 = 65_536;
/// The longest accepted time in milliseconds.
const LONGEST: u64 = 600_000;

/// The settings of enabled tracing.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The full URL for POST requests.
    pub(super) endpoint: String,
    /// The part of it that logs may show.
    pub(super) origin: String,
    /// The time limit for one batch.
    pub(super) limit: Duration,
    pub(super) sampler: Sampler,
    /// The most queued spans.
    pub(super) queue: usize,
    /// The most spans in a batch.
    pub(super) batch: usize,
    /// How long a span waits for others.
    pub(super) delay: Duration,
    /// Whether the environment names this service.
    pub(super) named: bool,
}

/// The environment, and the mistakes found in it.
struct Environment<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
    mistakes: Vec<String>,
}

/// The tracing settings; `None` if tracing is off.
///
/// # Errors
///
/// All mistakes, one line each.
pub(super) fn wanted(get: impl Fn(&str) -> Option<String>) -> Result<Option<Wanted>, Vec<String>> {
    let mut environment = Environment { get: &get, mistakes: Vec::new() };
    let env = &mut environment;
    if env.get("OTEL_SDK_DISABLED").is_some_and(|said| said.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let placed = env.of_traces("ENDPOINT").is_some();
    match env.get("OTEL_TRACES_EXPORTER").as_deref() {
        Some("none") => return Ok(None),
        None if !placed => return Ok(None),
        Some("otlp") | None => {}
        Some(other) => env.mistake(format!("OTEL_TRACES_EXPORTER is {other:?}; write otlp, or none")),
    }
    if let Some((name, protocol)) = env.of_traces("PROTOCOL").filter(|(_, protocol)| protocol != "http/protobuf") {
        env.mistake(format!(
            "{name} is {protocol:?}, and only http/protobuf is spoken here; write that, and the endpoint that the \
             collector has for it (its port is usually 4318)"
        ));
    }
    if let Some((name, coding)) = env.of_traces("COMPRESSION").filter(|(_, coding)| coding != "none") {
        env.mistake(format!("{name} is {coding:?}, and nothing is compressed here; unset it"));
    }
    for what in ["CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE"] {
        if let Some((name, _)) = env.of_traces(what) {
            env.mistake(format!("{name} is not read; name certificates to trust in SSL_CERT_FILE, and unset it"));
        }
    }
    env.check_headers();
    let (endpoint, origin) = env.endpoint();
    let limit = env.of_traces("TIMEOUT").map_or("OTEL_EXPORTER_OTLP_TIMEOUT".to_owned(), |(name, _)| name);
    let limit = env.number(&limit, 10_000, LONGEST).min(env.number("OTEL_BSP_EXPORT_TIMEOUT", 30_000, LONGEST));
    let queue = env.number("OTEL_BSP_MAX_QUEUE_SIZE", 2048, MOST_WAITING);
    let batch = env.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, MOST_WAITING).min(queue);
    let delay = Duration::from_millis(env.number("OTEL_BSP_SCHEDULE_DELAY", 5000, LONGEST));
    let sampler = env.sampler();
    let attributes = env.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut keys = attributes.split(',').filter_map(|entry| entry.split_once('=')).map(|(key, _)| key.trim());
    let named = env.get("OTEL_SERVICE_NAME").is_some() || keys.any(|key| key == "service.name");
    if !environment.mistakes.is_empty() {
        return Err(environment.mistakes);
    }
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let (queue, batch, limit) = (size(queue), size(batch), Duration::from_millis(limit));
    Ok(Some(Wanted { endpoint, origin, limit, sampler, queue, batch, delay, named }))
}

impl Environment<'_> {
    /// A variable's value. An empty one counts as unset.
    fn get(&self, name: &str) -> Option<String> {
        (self.get)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The value for traces, or else the one for all signals, and the name of the variable.
    fn of_traces(&self, what: &str) -> Option<(String, String)> {
        let names = [format!("OTEL_EXPORTER_OTLP_TRACES_{what}"), format!("OTEL_EXPORTER_OTLP_{what}")];
        names.into_iter().find_map(|name| self.get(&name).map(|value| (name, value)))
    }

    fn mistake(&mut self, what: String) {
        self.mistakes.push(what);
    }

    /// The URL to post to, and the part of it that may be shown.
    fn endpoint(&mut self) -> (String, String) {
        let (name, said) = self.of_traces("ENDPOINT").unwrap_or(("OTEL_EXPORTER_OTLP_ENDPOINT".into(), LOCAL.into()));
        // Only the variable for all signals leaves the path to us.
        let whole = if name.contains("TRACES") { said } else { format!("{}/v1/traces", said.trim_end_matches('/')) };
        let url = Url::parse(&whole).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        match url {
            None => self.mistake(format!("{name} is no http or https URL; write http://collector:4318, say")),
            Some(url) if !url.username().is_empty() || url.password().is_some() => {
                self.mistake(format!("{name} holds a user or password; use OTEL_EXPORTER_OTLP_HEADERS for that"));
            }
            Some(url) => return (url.to_string(), url.origin().ascii_serialization()),
        }
        (whole, String::new())
    }

    /// Checks the headers. Their values are credentials and are never shown.
    fn check_headers(&mut self) {
        let Some((variable, said)) = self.of_traces("HEADERS") else { return };
        for entry in said.split(',').filter(|entry| !entry.trim().is_empty()) {
            let fits = entry.split_once('=').is_some_and(|(name, value)| {
                let (name, value) = (name.trim(), value.trim());
                HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok()
            });
            if !fits {
                self.mistake(format!("{variable} has an entry that is not name=value, percent-encoded"));
                return;
            }
        }
    }

    /// A number of at least 1.
    fn number(&mut self, name: &str, default: u64, most: u64) -> u64 {
        let Some(said) = self.get(name) else { return default };
        match said.parse() {
            Ok(number) if (1..=most).contains(&number) => number,
            _ => {
                self.mistake(format!("{name} is {said:?}; write a number from 1 to {most}"));
                default
            }
        }
    }

    fn sampler(&mut self) -> Sampler {
        let name = self.get("OTEL_TRACES_SAMPLER").unwrap_or_else(|| "parentbased_always_on".to_owned());
        let (parent, own) = match name.strip_prefix("parentbased_") {
            Some(own) => (true, own),
            None => (false, name.as_str()),
        };
        let root = match own {
            "always_on" => Sampler::AlwaysOn,
            "always_off" => Sampler::AlwaysOff,
            "traceidratio" => Sampler::TraceIdRatioBased(self.ratio()),
            _ => {
                self.mistake(format!(
                    "OTEL_TRACES_SAMPLER is {name:?}; write always_on, always_off or traceidratio, or one of them after \
                     parentbased_"
                ));
                Sampler::AlwaysOff
            }
        };
        if parent { Sampler::ParentBased(Box::new(root)) } else { root }
    }

    fn ratio(&mut self) -> f64 {
        let said = self.get("OTEL_TRACES_SAMPLER_ARG");
        match said.as_deref().map(str::parse::<f64>) {
            None => 1.0,
            Some(Ok(ratio)) if (0.0..=1.0).contains(&ratio) => ratio,
            Some(_) => {
                let said = said.unwrap_or_default();
                self.mistake(format!("OTEL_TRACES_SAMPLER_ARG is {said:?}; write a number from 0 to 1"));
                0.0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<Wanted>, Vec<String>> {
        wanted(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    const THERE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c.example:4318/");

    #[test]
    fn nothing_is_wanted_unless_it_is_asked_for() {
        for variables in [
            vec![],
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            vec![("OTEL_SERVICE_NAME", "x"), ("OTEL_TRACES_SAMPLER", "nonsense")],
            vec![THERE, ("OTEL_SDK_DISABLED", "TRUE")],
            vec![THERE, ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
        ] {
            assert!(of(&variables).unwrap().is_none(), "{variables:?}");
        }
    }

    #[test]
    fn what_is_asked_for_is_understood() {
        let wanted = of(&[THERE]).unwrap().unwrap();
        assert_eq!(wanted.endpoint, "http://c.example:4318/v1/traces");
        assert_eq!((wanted.queue, wanted.batch, wanted.named), (2048, 512, false));
        assert_eq!((wanted.limit, wanted.delay), (Duration::from_secs(10), Duration::from_secs(5)));
        assert_eq!(format!("{:?}", wanted.sampler), "ParentBased(AlwaysOn)");
        let wanted = of(&[("OTEL_TRACES_EXPORTER", "otlp")]).unwrap().unwrap();
        assert_eq!(wanted.endpoint, "http://localhost:4318/v1/traces");
        let wanted = of(&[
            THERE,
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t.example/otlp?key=secret"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "700"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "900"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, x-a=b"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_RESOURCE_ATTRIBUTES", "a=b, service.name=shop"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "100"),
        ]);
        let wanted = wanted.unwrap().unwrap();
        assert_eq!(
            (wanted.endpoint.as_str(), wanted.origin.as_str()),
            ("https://t.example/otlp?key=secret", "https://t.example")
        );
        assert_eq!((wanted.limit, wanted.queue, wanted.batch), (Duration::from_millis(700), 100, 100));
        assert!(wanted.named);
        assert_eq!(format!("{:?}", wanted.sampler), "ParentBased(TraceIdRatioBased(0.25))");
    }

    #[test]
    fn each_mistake_says_what_to_write_and_no_secret() {
        for (name, value, says) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "unset"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem", "SSL_CERT_FILE"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret", "name=value"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317", "http://collector:4318"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://u:secret@c", "OTEL_EXPORTER_OTLP_HEADERS"),
            ("OTEL_TRACES_EXPORTER", "console", "otlp"),
            ("OTEL_TRACES_SAMPLER", "xray", "traceidratio"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "from 1 to 65536"),
            ("OTEL_BSP_SCHEDULE_DELAY", "soon", "from 1 to 600000"),
        ] {
            let mistakes = of(&[THERE, (name, value)]).unwrap_err();
            assert_eq!(mistakes.len(), 1, "{mistakes:?}");
            assert!(mistakes[0].starts_with(name) && mistakes[0].contains(says), "{mistakes:?}");
            assert!(!mistakes[0].contains("secret"), "{mistakes:?}");
        }
        for ratio in ["2", "-0.1", "half", "NaN"] {
            let variables = [THERE, ("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", ratio)];
            assert!(of(&variables).unwrap_err()[0].contains("from 0 to 1"), "{ratio}");
        }
        let many = of(&[THERE, ("OTEL_TRACES_SAMPLER", "x"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err();
        assert_eq!(many.len(), 2, "{many:?}");
    }
}
