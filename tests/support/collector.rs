//! A trace collector that accepts OTLP over HTTP and parses the part of its protobuf that describes spans.

use super::message::Request;
use super::origin::Origin;
use super::reply::Reply;
use super::setup::Setup;
use super::{SOON, eventually};
use std::collections::BTreeMap;

pub struct Collector(Origin);

/// The numbers of span kinds.
pub const INTERNAL: u64 = 1;
pub const SERVER: u64 = 2;
pub const CLIENT: u64 = 3;

#[derive(Clone, Debug, Default)]
pub struct Span {
    pub trace: String,
    pub id: String,
    /// Empty for a root span.
    pub parent: String,
    pub state: String,
    pub name: String,
    pub kind: u64,
    pub attributes: BTreeMap<String, String>,
    pub failed: bool,
    /// The resource of the sender.
    pub resource: BTreeMap<String, String>,
}

impl Span {
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

impl Collector {
    pub async fn start() -> Collector {
        Collector(Origin::start(|_: &Request| Reply::new(200).header("Content-Type", "application/x-protobuf")).await)
    }

    pub fn url(&self) -> String {
        self.0.url()
    }

    /// A desk that sends its spans here without delay.
    pub fn told_by(&self, setup: Setup) -> Setup {
        setup.env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.url()).env("OTEL_BSP_SCHEDULE_DELAY", "50")
    }

    pub fn requests(&self) -> Vec<Request> {
        self.0.requests()
    }

    /// All spans so far.
    pub fn spans(&self) -> Vec<Span> {
        self.requests().iter().flat_map(|request| spans(&request.body)).collect()
    }

    /// The spans, once `count` of them match `wanted`.
    pub async fn with(&self, count: usize, wanted: impl Fn(&Span) -> bool) -> Vec<Span> {
        let what = format!("{count} such spans of {:?}", self.0.addr);
        eventually(&what, SOON, async || self.spans().iter().filter(|span| wanted(span)).count() >= count).await;
        self.spans().into_iter().filter(|span| wanted(span)).collect()
    }
}

/// One field of a message: a number, or bytes.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn bytes(self) -> &'a [u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Number(number) => panic!("bytes, not {number}"),
        }
    }

    fn number(self) -> u64 {
        match self {
            Field::Number(number) => number,
            Field::Bytes(bytes) => panic!("a number, not {bytes:?}"),
        }
    }
}

/// The fields of a message, by number.
fn fields(mut rest: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(rest: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, after) = rest.split_first().expect("a varint");
            *rest = after;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }
    fn take<'a>(rest: &mut &'a [u8], size: usize) -> &'a [u8] {
        let (taken, after) = rest.split_at(size);
        *rest = after;
        taken
    }
    let mut found = Vec::new();
    while !rest.is_empty() {
        let key = varint(&mut rest);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut rest)),
            1 => Field::Number(u64::from_le_bytes(take(&mut rest, 8).try_into().expect("8 bytes"))),
            2 => {
                let size = usize::try_from(varint(&mut rest)).expect("a size");
                Field::Bytes(take(&mut rest, size))
            }
            5 => Field::Number(u32::from_le_bytes(take(&mut rest, 4).try_into().expect("4 bytes")).into()),
            kind => panic!("a field of kind {kind}"),
        };
        found.push((key >> 3, field));
    }
    found
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A KeyValue, with its value as text.
fn attribute(message: &[u8]) -> (String, String) {
    let (mut key, mut value) = (String::new(), String::new());
    for (number, field) in fields(message) {
        match number {
            1 => key = text(field.bytes()),
            2 => {
                value = fields(field.bytes()).into_iter().next().map_or(String::new(), |(kind, field)| match kind {
                    1 => text(field.bytes()),
                    4 => f64::from_bits(field.number()).to_string(),
                    _ => field.number().to_string(),
                });
            }
            _ => {}
        }
    }
    (key, value)
}

/// The spans of an ExportTraceServiceRequest.
fn spans(request: &[u8]) -> Vec<Span> {
    let mut found = Vec::new();
    for (_, of_resource) in fields(request) {
        let mut resource = BTreeMap::new();
        for (number, field) in fields(of_resource.bytes()) {
            match number {
                1 => resource.extend(
                    fields(field.bytes()).into_iter().filter(|(n, _)| *n == 1).map(|(_, f)| attribute(f.bytes())),
                ),
                2 => {
                    let of_scope = fields(field.bytes()).into_iter().filter(|(n, _)| *n == 2);
                    found.extend(of_scope.map(|(_, f)| Span { resource: resource.clone(), ..span(f.bytes()) }));
                }
                _ => {}
            }
        }
    }
    found
}

fn span(message: &[u8]) -> Span {
    let mut span = Span::default();
    for (number, field) in fields(message) {
        match number {
            1 => span.trace = hex(field.bytes()),
            2 => span.id = hex(field.bytes()),
            3 => span.state = text(field.bytes()),
            4 => span.parent = hex(field.bytes()),
            5 => span.name = text(field.bytes()),
            6 => span.kind = field.number(),
            9 => span.attributes.extend([attribute(field.bytes())]),
            15 => span.failed = fields(field.bytes()).into_iter().any(|(n, f)| n == 3 && f.number() == 2),
            _ => {}
        }
    }
    span
}
