//! Fingerprints: names for records and confirmations, made of parts that may not run into each other.

use ring::digest;

use frontdesk_base::text::hex;

/// SHA-256, in hex, of length-separated parts.
pub fn fingerprint(parts: &[&[u8]]) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    hex(context.finish().as_ref())
}
