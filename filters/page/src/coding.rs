//! A page that comes compressed: decode, insert, encode again in the same coding, as it streams.
//!
//! Everything goes through one window, so that a page of any size takes the same memory, and what a piece of input
//! decoded to is flushed at once, so that a page that streams keeps streaming. A body that is not what its header says
//! passes as it came, as long as nothing has left yet.

use std::{fmt, sync::Arc};

use bytes::Bytes;

use super::{
    content_coding::Coding,
    decode::{Decoder, Status},
    encode::{self, Encoder},
    form_marks::FormMarker,
    insert::Inserter,
    insertion::{Insertion, Outcome, Why},
    whole,
};

/// The window through which decoded bytes pass.
const WINDOW_BYTES: usize = 32 * 1024;
/// How much of the original is kept for passing it on after all, until the first output.
const ORIGINAL_MAX_BYTES: usize = 64 * 1024;
/// A page that is longer, decoded, is not recoded in one go: others wait meanwhile.
const AT_ONCE_MAX_BYTES: usize = 256 * 1024;
/// From so many decoded bytes on, more than so many for each encoded one are a bomb. A long table whose rows are alike
/// comes to some 550:1 in `br` and 120:1 in `gzip`; what is made to be a bomb to 1000:1 and more.
const BOMBS: [(u64, u64); 2] = [(1024 * 1024, 1000), (16 * 1024 * 1024, 100)];

/// A recoded page that cannot go on. The response has to be cut: what it promised will not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What can still be sent.
    pub sent: Bytes,
    /// What went wrong.
    pub why: BrokenWhy,
}

/// Why a recoded page cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenWhy {
    /// The input is not valid any more, after some of it was passed on.
    Corrupt,
    /// The input ended too early.
    Truncated,
    /// It grows too much.
    Bomb,
}

impl fmt::Display for BrokenWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BrokenWhy::Corrupt => "the compressed page is corrupt",
            BrokenWhy::Truncated => "the compressed page ended too early",
            BrokenWhy::Bomb => "the compressed page grows a hundredfold and more",
        })
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl std::error::Error for Broken {}

enum State {
    /// Nothing has left: the original can still be passed on.
    Fresh {
        original: Vec<u8>,
    },
    Running,
    /// The body is passed on as it came.
    Untouched,
    /// The encoded stream is complete, what follows is ignored; or it is broken.
    Over,
}

/// One page being recoded.
pub struct Recoder {
    state: State,
    coding: Coding,
    decoder: Option<Decoder>,
    encoder: Option<Encoder>,
    inserter: Inserter,
    window: Box<[u8]>,
    /// A first byte of deflate, which alone does not say which flavour it is.
    first: Vec<u8>,
    taken: u64,
    given: u64,
    /// Something was encoded since the last flush.
    dirty: bool,
}

impl Recoder {
    /// For one page in this coding.
    pub fn new(coding: Coding, insertion: Arc<Insertion>) -> Recoder {
        Recoder {
            state: State::Fresh { original: Vec::new() },
            coding,
            decoder: None,
            encoder: None,
            inserter: Inserter::new(insertion),
            window: Box::default(),
            first: Vec::new(),
            taken: 0,
            given: 0,
            dirty: false,
        }
    }

    /// The same, with an element for this page alone.
    pub fn of_page(mut self, element: Bytes) -> Recoder {
        self.inserter = self.inserter.of_page(element);
        self
    }

    /// The same, with the site's own forms marked on the way.
    pub fn marking(mut self, forms: FormMarker) -> Recoder {
        self.inserter = self.inserter.marking(forms);
        self
    }

    /// What became of the page so far.
    pub fn outcome(&self) -> Outcome {
        if matches!(self.state, State::Untouched) {
            return Outcome::GaveUp(Why::NotAsDeclared);
        }
        self.inserter.outcome()
    }

    /// How many bytes were decoded so far.
    #[cfg(test)]
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// The whole encoded body in, the whole of what leaves out. `None`: nothing has happened, and it is to be fed.
    pub fn at_once(&mut self, body: &[u8]) -> Option<Result<Bytes, Broken>> {
        if self.taken > 0 || self.coding != Coding::Gzip || !matches!(self.state, State::Fresh { .. }) {
            return None;
        }
        let plain = whole::decoded(Coding::Gzip, body, AT_ONCE_MAX_BYTES)?;
        let (taken, given) = (body.len() as u64, plain.len() as u64);
        let mut page = self.inserter.feed(Bytes::from(plain.into_owned())).joined();
        let rest = self.inserter.finish();
        if !rest.is_empty() {
            page = [page, rest].concat().into();
        }
        (self.taken, self.given, self.state) = (taken, given, State::Over);
        Some(encode::gzip(&page).map_err(|_| Broken { sent: Bytes::new(), why: BrokenWhy::Corrupt }))
    }

    /// The next encoded piece in, what may leave now out.
    pub fn feed(&mut self, chunk: Bytes) -> Result<Bytes, Broken> {
        match &self.state {
            State::Untouched => return Ok(chunk),
            State::Over => return Ok(Bytes::new()),
            _ if chunk.is_empty() => return Ok(chunk),
            _ => {}
        }
        let ran = self.run(&chunk);
        self.settle(ran, &chunk)
    }

    /// The encoded body has ended: the rest.
    pub fn finish(&mut self) -> Result<Bytes, Broken> {
        match &self.state {
            State::Untouched | State::Over => return Ok(Bytes::new()),
            // An empty body is empty in every coding.
            State::Fresh { original } if original.is_empty() => return Ok(Bytes::new()),
            _ => {}
        }
        let whole = self.decoder.as_ref().is_some_and(Decoder::complete);
        if !whole {
            return self.settle(Err(BrokenWhy::Truncated), &Bytes::new());
        }
        let rest = self.inserter.finish();
        let sent = self.encode(&rest).and_then(|()| self.close());
        self.state = State::Over;
        sent.map_err(|why| Broken { sent: Bytes::new(), why })
    }

    /// Turn what `run` made of this chunk into what leaves.
    fn settle(&mut self, ran: Result<(), BrokenWhy>, chunk: &Bytes) -> Result<Bytes, Broken> {
        let why = match ran {
            Ok(()) => {
                let sent = self.flush().map_err(|why| Broken { sent: Bytes::new(), why })?;
                match &mut self.state {
                    State::Fresh { original }
                        if sent.is_empty() && original.len() + chunk.len() <= ORIGINAL_MAX_BYTES =>
                    {
                        original.extend_from_slice(chunk);
                    }
                    // Output, or so much input without any: there is no way back from here.
                    State::Fresh { .. } => self.state = State::Running,
                    _ => {}
                }
                return Ok(sent);
            }
            Err(why) => why,
        };
        let state = std::mem::replace(&mut self.state, State::Over);
        if let (State::Fresh { mut original }, true) = (state, why != BrokenWhy::Bomb) {
            (self.decoder, self.encoder, self.state) = (None, None, State::Untouched);
            if original.is_empty() {
                return Ok(chunk.clone());
            }
            original.extend_from_slice(chunk);
            return Ok(original.into());
        }
        if why == BrokenWhy::Truncated {
            let rest = self.inserter.cut();
            // The page is broken already; an encoder that fails too adds nothing to it.
            self.encode(&rest).ok();
        }
        let sent = self.flush().unwrap_or_default();
        (self.decoder, self.encoder) = (None, None);
        Err(Broken { sent, why })
    }

    fn run(&mut self, chunk: &Bytes) -> Result<(), BrokenWhy> {
        self.taken += chunk.len() as u64;
        let joined;
        let mut input: &[u8] = chunk;
        if self.decoder.is_none() {
            self.first.extend_from_slice(chunk);
            if self.first.len() < 2 && self.coding == Coding::Deflate {
                return Ok(());
            }
            joined = std::mem::take(&mut self.first);
            input = &joined;
            let decoder = Decoder::new(self.coding, input).map_err(|_| BrokenWhy::Corrupt)?;
            self.encoder = Some(Encoder::new(decoder.flavour()).map_err(|_| BrokenWhy::Corrupt)?);
            self.decoder = Some(decoder);
            self.window = vec![0; WINDOW_BYTES].into();
        }
        let mut window = std::mem::take(&mut self.window);
        let ran = self.pump(input, &mut window);
        self.window = window;
        ran
    }

    fn pump(&mut self, mut input: &[u8], window: &mut [u8]) -> Result<(), BrokenWhy> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(()) };
            let (taken, given, status) = decoder.step(input, window).map_err(|_| BrokenWhy::Corrupt)?;
            input = &input[taken..];
            self.given += given as u64;
            if BOMBS.iter().any(|(from, ratio)| self.given > *from && self.given > ratio * self.taken) {
                return Err(BrokenWhy::Bomb);
            }
            if given > 0 {
                if self.inserter.done() {
                    self.encode(&window[..given])?;
                } else {
                    let out = self.inserter.feed(Bytes::copy_from_slice(&window[..given]));
                    for part in [out.made, out.rest, out.after] {
                        self.encode(&part)?;
                    }
                }
            }
            match status {
                Status::More => {}
                Status::Starved => return Ok(()),
            }
        }
    }

    fn encode(&mut self, bytes: &[u8]) -> Result<(), BrokenWhy> {
        if let (Some(encoder), false) = (&mut self.encoder, bytes.is_empty()) {
            self.dirty = true;
            // Writing to memory does not fail; if an encoder does, the page cannot go on.
            encoder.write(bytes).map_err(|_| BrokenWhy::Corrupt)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<Bytes, BrokenWhy> {
        match &mut self.encoder {
            Some(encoder) if std::mem::take(&mut self.dirty) => encoder.flush().map_err(|_| BrokenWhy::Corrupt),
            _ => Ok(Bytes::new()),
        }
    }

    fn close(&mut self) -> Result<Bytes, BrokenWhy> {
        self.decoder = None;
        match self.encoder.take() {
            Some(encoder) => encoder.finish().map_err(|_| BrokenWhy::Corrupt),
            None => Ok(Bytes::new()),
        }
    }
}
