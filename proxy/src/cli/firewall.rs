//! `frontdesk firewall`: filters a text of any length as the firewall filters responses to agents.
//!
//! The text passes in pieces, so that a log of gigabytes takes no more memory than a line.

use std::{
    io::{self, ErrorKind, Read, Write},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use frontdesk_filters::firewall::{Firewall, Flags, Stream};

use super::check;
use crate::source::Source;

/// The bytes of one read.
const PIECE: usize = 64 * 1024;

/// Writes the text to standard output and the findings, never a value, to standard error.
pub(super) fn firewall(file: PathBuf) -> ExitCode {
    let firewall = match check::usable(&Source::file(file)) {
        Ok(declaration) => declaration.settings.firewall.compiled(),
        Err(code) => return code,
    };
    let (mut from, mut to) = (io::stdin().lock(), io::stdout().lock());
    match through(Arc::new(firewall), &mut from, &mut to) {
        Ok((flags, blocked)) => {
            for (rule, mode, count) in flags.counts() {
                eprintln!("frontdesk: {rule}: {count}, {}", mode.word());
            }
            if blocked {
                eprintln!("frontdesk: a rule blocks this text; the output ends near the finding");
            }
            ExitCode::from(u8::from(blocked))
        }
        Err(e) => {
            eprintln!("frontdesk: standard input or output failed: {e}");
            ExitCode::from(2)
        }
    }
}

/// The findings, and whether one of them blocks the text.
fn through(firewall: Arc<Firewall>, from: &mut impl Read, to: &mut impl Write) -> io::Result<(Flags, bool)> {
    let mut stream = Stream::new(firewall);
    let mut piece = vec![0; PIECE];
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        to.write_all(&stream.push(&piece[..read]))?;
        if stream.is_blocked() {
            break;
        }
    }
    to.write_all(&stream.finish())?;
    to.flush()?;
    Ok((stream.flags().clone(), stream.is_blocked()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use frontdesk_filters::firewall::{Mode, Modes};

    /// A reader that gives a few bytes at a time.
    struct Dripping<'a>(&'a [u8]);

    impl Read for Dripping<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(into.len()).min(7);
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn looked_through(secrets: Mode, text: &str) -> (String, Vec<String>, bool) {
        let firewall = Firewall::new(Modes { secrets, ..Modes::REPORT }, [], Vec::new());
        let mut out = Vec::new();
        let (flags, blocked) = through(Arc::new(firewall), &mut Dripping(text.as_bytes()), &mut out).unwrap();
        (String::from_utf8(out).unwrap(), flags.told(), blocked)
    }

    #[test]
    fn what_is_split_over_pieces_is_found_and_the_rest_stays() {
        let around = "a line of a log\n".repeat(20_000);
        let token = format!("{}_{}", "ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let text = format!("{around}token: {token}\n{around}mail somebody@acme-travel.com\n");
        let (out, told, blocked) = looked_through(Mode::Redact, &text);
        assert!(!out.contains(&token) && !blocked);
        let [before, after] = out.split("[redacted:").collect::<Vec<_>>()[..] else { panic!("{}", out.len()) };
        assert!(
            before.starts_with(&around) && after.contains(&around) && after.ends_with("somebody@acme-travel.com\n")
        );
        assert!(told.iter().any(|flag| flag.starts_with("secret-redacted")), "{told:?}");
        assert!(told.iter().any(|flag| flag.starts_with("pii-found")), "{told:?}");

        let (out, _, blocked) = looked_through(Mode::Block, &text);
        assert!(blocked && !out.contains(&token) && !out.contains("somebody"));
    }
}
