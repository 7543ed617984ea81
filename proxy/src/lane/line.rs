//! A line of a head, as it is written.

/// Writes a line.
pub(super) fn put(wire: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        wire.extend_from_slice(part);
    }
}

/// The same for one that was sent as `whole`: mostly there is nothing to put together.
pub(super) fn put_as_sent(wire: &mut Vec<u8>, name: &[u8], value: &[u8], whole: &[u8]) {
    if whole.len() == name.len() + 2 + value.len() && whole[name.len()..].starts_with(b": ") {
        wire.extend_from_slice(whole);
        wire.extend_from_slice(b"\r\n");
    } else {
        put(wire, name, value);
    }
}
