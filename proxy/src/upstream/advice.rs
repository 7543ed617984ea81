//! What an operator may do about a certificate that was not accepted: the library names the check that failed, and not
//! the way out.

use pingora::{Error, ErrorType};

/// What an error says, and what helps.
const KNOWN: [(&str, &str); 6] = [
    (
        "CaUsedAsEndEntity",
        "the upstream shows the certificate of a CA as its own, as `openssl req -x509` makes it: make it with -addext \
         basicConstraints=critical,CA:FALSE and with its name, -addext subjectAltName=DNS:NAME, or have a CA sign one",
    ),
    ("UnknownIssuer", "nobody who is known here has signed the upstream's certificate: name who has in upstream.ca"),
    // Before the next, which says the same of one that has others.
    (
        "not valid for any names",
        "the upstream's certificate names nobody, for its CN is not looked at: make it with -addext subjectAltName=DNS:NAME",
    ),
    ("not valid for", "the upstream's certificate is for another name: write that name in upstream.server_name"),
    ("certificate expired", "the upstream needs a new certificate"),
    ("not valid yet", "the upstream's certificate begins later: look at the clock here and where it was made"),
];

/// What helps, where a connection to an upstream failed for its certificate.
pub fn advice(e: &Error) -> Option<&'static str> {
    if !matches!(e.etype(), ErrorType::TLSHandshakeFailure | ErrorType::InvalidCert) {
        return None;
    }
    let said = e.to_string();
    KNOWN.iter().find(|(known, _)| said.contains(known)).map(|(_, helps)| *helps)
}
