//! Text in which `<` means nothing: comments, CDATA, and the insides of script, style, title and their like.
//!
//! Each reader takes what is there, says how far it came, and keeps no byte but its own small state. Only a `<` that
//! may begin the end of the element is held back, for at most nine bytes.

use memchr::{memchr, memchr2};

use super::tag::is_space;

/// How far a reader came.
#[derive(Debug, PartialEq)]
pub(super) enum Read {
    /// Everything up to here is text; more input is needed.
    More(usize),
    /// The text ends here (for an element: at the `<` of its end tag).
    End(usize),
}

/// Inside `<!-- … -->`, named as in the standard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comment {
    Start,
    StartDash,
    Text,
    Dash,
    DashDash,
    Bang,
}

impl Comment {
    /// Read on; `End` is just after the `>`.
    pub fn read(&mut self, text: &[u8]) -> Read {
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            if *self == Comment::Text {
                match memchr(b'-', &text[at..]) {
                    None => return Read::More(text.len()),
                    Some(n) => {
                        at += n + 1;
                        *self = Comment::Dash;
                    }
                }
                continue;
            }
            at += 1;
            *self = match (*self, byte) {
                (Comment::Start | Comment::StartDash | Comment::DashDash | Comment::Bang, b'>') => {
                    return Read::End(at);
                }
                (Comment::Start, b'-') => Comment::StartDash,
                (Comment::StartDash | Comment::Dash | Comment::DashDash, b'-') => Comment::DashDash,
                (Comment::Bang, b'-') => Comment::Dash,
                (Comment::DashDash, b'!') => Comment::Bang,
                _ => Comment::Text,
            };
        }
        Read::More(text.len())
    }
}

/// Inside `<![CDATA[ … ]]>`: how many `]` were just seen, at most two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cdata(pub u8);

impl Cdata {
    /// Read on; `End` is just after the `>`.
    pub fn read(&mut self, text: &[u8]) -> Read {
        for (at, &byte) in text.iter().enumerate() {
            self.0 = match byte {
                b']' => (self.0 + 1).min(2),
                b'>' if self.0 == 2 => return Read::End(at + 1),
                _ => 0,
            };
        }
        Read::More(text.len())
    }
}

/// Does `text`, at a `<`, begin with this opening and then a byte that ends a tag's name? The name is in small letters.
/// `None`: it may, more input is needed.
#[inline]
fn opens(text: &[u8], opening: &[u8], name: &[u8]) -> Option<bool> {
    let head = &text[..text.len().min(opening.len())];
    let mut letters = text[head.len()..].iter().zip(name);
    if !opening.starts_with(head) || letters.any(|(a, b)| a | 0x20 != *b) {
        return Some(false);
    }
    text.get(opening.len() + name.len()).map(|&byte| is_space(byte) || byte == b'/' || byte == b'>')
}

/// Inside title, textarea, style, xmp, iframe, noembed, noframes, noscript: up to the end tag of that name.
pub(super) fn element(name: &'static str, text: &[u8]) -> Read {
    let mut at = 0;
    while let Some(n) = memchr(b'<', &text[at..]) {
        at += n;
        match opens(&text[at..], b"</", name.as_bytes()) {
            Some(true) => return Read::End(at),
            Some(false) => at += 1,
            None => return Read::More(at),
        }
    }
    Read::More(text.len())
}

/// Inside a script: `<!--` begins an escape in which a second `<script` hides the next `</script>`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Script {
    Plain,
    /// After `<!--`, with the number of `-` just seen, at most two.
    Escaped(u8),
    /// After `<!-- … <script`.
    Double(u8),
}

impl Script {
    /// Read on; `End` is at the `<` of the end tag that really ends the script.
    pub fn read(&mut self, text: &[u8]) -> Read {
        let mut at = 0;
        while at < text.len() {
            let dashes = match *self {
                Script::Plain => {
                    let Some(n) = memchr(b'<', &text[at..]) else { return Read::More(text.len()) };
                    at += n;
                    match self.plain(&text[at..]) {
                        Some(0) => return Read::End(at),
                        Some(n) => at += n,
                        None => return Read::More(at),
                    }
                    continue;
                }
                Script::Escaped(dashes) | Script::Double(dashes) => dashes,
            };
            match text[at] {
                b'-' => *self = self.dashed((dashes + 1).min(2)),
                b'>' if dashes == 2 => *self = Script::Plain,
                b'<' => match self.escaped(&text[at..]) {
                    Some(0) => return Read::End(at),
                    Some(n) => {
                        at += n;
                        continue;
                    }
                    None => return Read::More(at),
                },
                _ => {
                    *self = self.dashed(0);
                    at += memchr2(b'-', b'<', &text[at..]).unwrap_or(text.len() - at);
                    continue;
                }
            }
            at += 1;
        }
        Read::More(text.len())
    }

    fn dashed(self, dashes: u8) -> Script {
        match self {
            Script::Plain => Script::Plain,
            Script::Escaped(_) => Script::Escaped(dashes),
            Script::Double(_) => Script::Double(dashes),
        }
    }

    /// At a `<` in plain script text: how many bytes to pass, 0 at the end tag.
    fn plain(&mut self, text: &[u8]) -> Option<usize> {
        if opens(text, b"</", b"script")? {
            return Some(0);
        }
        let comment = b"<!--";
        let same = text.iter().zip(comment).take_while(|(a, b)| a == b).count();
        match same {
            4 => {
                *self = Script::Escaped(2);
                Some(4)
            }
            _ if same == text.len() => None,
            _ => Some(1),
        }
    }

    /// At a `<` in escaped script text: how many bytes to pass, 0 at the end tag.
    fn escaped(&mut self, text: &[u8]) -> Option<usize> {
        let double = matches!(self, Script::Double(_));
        if opens(text, b"</", b"script")? {
            if !double {
                return Some(0);
            }
            *self = Script::Escaped(0);
            return Some(9);
        }
        if !double && opens(text, b"<", b"script")? {
            *self = Script::Double(0);
            return Some(8);
        }
        *self = self.dashed(0);
        Some(1)
    }
}
