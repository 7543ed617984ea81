//! Parses the trace context of a request's headers (W3C Trace Context, level 2).
//!
//! Any client may send them. A malformed context counts as missing, and `tracestate` is only valid with `traceparent`.

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

pub(super) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub(super) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The ids of a trace and of a span in it.
pub type Ids = (TraceId, SpanId);

/// The defined flags: sampled, and random trace id.
const KNOWN: u8 = 0b11;
/// The byte ranges of a `traceparent`: version, trace, parent, flags.
const PARTS: [std::ops::Range<usize>; 4] = [0..2, 3..35, 36..52, 53..55];
const LENGTH: usize = 55;

/// Whether a header with this name carries a trace context. Ignores case.
pub fn is_context(name: &[u8]) -> bool {
    [TRACEPARENT, TRACESTATE].iter().any(|known| known.as_str().as_bytes().eq_ignore_ascii_case(name))
}

/// The parent span that the request names.
pub(super) fn incoming(headers: &HeaderMap) -> Option<SpanContext> {
    let (trace, span, flags) = parent(headers)?;
    // An invalid tracestate is dropped, and the parent stays valid (§3.3.1.5).
    let mut lines = headers.get_all(&TRACESTATE).iter().map(HeaderValue::to_str);
    let state = lines.try_fold(String::new(), |mut all, line| {
        line.map(|line| {
            if !all.is_empty() {
                all.push(',');
            }
            all.push_str(line);
            all
        })
    });
    let state = state.ok().filter(|state| !state.is_empty()).and_then(|state| state.parse::<TraceState>().ok());
    Some(SpanContext::new(trace, span, flags, true, state.unwrap_or_default()))
}

/// The ids in a request's headers, while tracing is off.
pub fn ids(headers: &HeaderMap) -> Option<Ids> {
    parent(headers).map(|(trace, span, _)| (trace, span))
}

fn parent(headers: &HeaderMap) -> Option<(TraceId, SpanId, TraceFlags)> {
    let mut values = headers.get_all(&TRACEPARENT).iter();
    let value = values.next()?.to_str().ok()?.trim_matches([' ', '\t']);
    if values.next().is_some() || value.len() < LENGTH || !value.is_ascii() {
        return None;
    }
    let [version, trace, span, flags] = PARTS.map(|part| &value[part]);
    let dashes = [2, 35, 52].iter().all(|at| value.as_bytes()[*at] == b'-');
    let lower_hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !dashes || ![version, trace, span, flags].into_iter().all(lower_hex) {
        return None;
    }
    // A later version may append fields.
    let ends = match version {
        "ff" => false,
        "00" => value.len() == LENGTH,
        _ => value.len() == LENGTH || value.as_bytes()[LENGTH] == b'-',
    };
    let trace = TraceId::from_hex(trace).ok().filter(|id| *id != TraceId::INVALID && ends)?;
    let span = SpanId::from_hex(span).ok().filter(|id| *id != SpanId::INVALID)?;
    let flags = u8::from_str_radix(flags, 16).ok()? & KNOWN;
    Some((trace, span, TraceFlags::new(flags)))
}

/// The context headers for an outgoing request: `traceparent`, and `tracestate` if there is one.
pub(super) fn outgoing(context: &SpanContext) -> (Option<HeaderValue>, Option<HeaderValue>) {
    let flags = context.trace_flags().to_u8() & KNOWN;
    let parent = format!("00-{:032x}-{:016x}-{flags:02x}", context.trace_id(), context.span_id());
    let state = Some(context.trace_state().header()).filter(|state| !state.is_empty());
    (HeaderValue::try_from(parent).ok(), state.and_then(|state| HeaderValue::try_from(state).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn headers(lines: &[(&HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn what_is_said_comes_out_as_it_went_in() {
        for flags in ["00", "01", "03"] {
            let parent = format!("00-{TRACE}-{SPAN}-{flags}");
            let sent = headers(&[(&TRACEPARENT, &parent), (&TRACESTATE, "a=1"), (&TRACESTATE, "b@c=2, d=x y")]);
            let context = incoming(&sent).unwrap();
            assert!(context.is_remote() && context.is_sampled() == (flags != "00"));
            let (parent_again, state) = outgoing(&context);
            assert_eq!(parent_again.unwrap(), parent);
            assert_eq!(state.unwrap(), "a=1,b@c=2,d=x y");
        }
        let unknown = incoming(&headers(&[(&TRACEPARENT, &format!("00-{TRACE}-{SPAN}-f9"))])).unwrap();
        assert_eq!(outgoing(&unknown).0.unwrap(), format!("00-{TRACE}-{SPAN}-01"), "unknown flags are zeroed");
        let later = headers(&[(&TRACEPARENT, &format!("cc-{TRACE}-{SPAN}-01-what-is-new"))]);
        assert_eq!(ids(&later).unwrap().0.to_string(), TRACE);
    }

    #[test]
    fn what_is_malformed_is_not_there() {
        let whole = format!("00-{TRACE}-{SPAN}-01");
        for parent in [
            "",
            "00",
            &whole[..54],
            &format!("{whole}-"),
            &format!("{whole}0"),
            &whole.to_uppercase(),
            &whole.replace('-', "_"),
            &format!("ff-{TRACE}-{SPAN}-01"),
            &format!("0g-{TRACE}-{SPAN}-01"),
            &format!("cc-{TRACE}-{SPAN}-01.x"),
            &format!("00-{}-{SPAN}-01", "0".repeat(32)),
            &format!("00-{TRACE}-{}-01", "0".repeat(16)),
            &format!("00-{TRACE}-{SPAN}-0x"),
            &"é".repeat(40),
            &"0".repeat(60_000),
        ] {
            let mut sent = headers(&[(&TRACESTATE, "a=1")]);
            sent.append(TRACEPARENT, HeaderValue::from_bytes(parent.as_bytes()).unwrap());
            assert!(incoming(&sent).is_none() && ids(&sent).is_none(), "{parent}");
        }
        assert!(incoming(&headers(&[(&TRACEPARENT, &whole), (&TRACEPARENT, &whole)])).is_none(), "two of them");
        let torn = incoming(&headers(&[(&TRACEPARENT, &whole), (&TRACESTATE, "no equals sign")])).unwrap();
        assert!(outgoing(&torn).1.is_none(), "a state that cannot be read goes, the parent stays");
    }
}
