//! Feeds (RSS and Atom): the documents that a site published last. Sitemaps may be written so too (sitemaps.org).

use quick_xml::{Reader, events::BytesStart, events::Event};

use super::references::character_of;

/// The most entries of a feed, and the most characters of an address.
const MOST_ENTRIES: usize = 5_000;
const LONGEST: usize = 2_048;
/// How deep elements may be nested; a feed with XHTML in it needs some.
const DEEPEST: usize = 64;

/// The addresses of the entries; `None` where it is no feed.
pub(super) fn read(text: &str) -> Option<Vec<String>> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    reader.config_mut().allow_dangling_amp = true;
    reader.config_mut().expand_empty_elements = true;
    let (mut found, mut depth) = (Vec::new(), 0usize);
    let (mut is_feed, mut entry_at) = (false, None::<usize>);
    // The text of a link of RSS, as far as it was read.
    let mut link = None::<String>;
    while let Ok(event) = reader.read_event() {
        match event {
            Event::DocType(_) => return None,
            Event::Start(start) => {
                depth += 1;
                let name = start.local_name();
                match (depth, name.as_ref()) {
                    (1, "rss" | "feed" | "RDF") => is_feed = true,
                    (1, _) => return None,
                    (DEEPEST.., _) => return None,
                    (_, "item" | "entry") if entry_at.is_none() => entry_at = Some(depth),
                    (_, "link") if entry_at.is_some_and(|at| depth == at + 1) => match href(&start) {
                        Some(location) => add(&mut found, &location),
                        None => link = Some(String::new()),
                    },
                    _ => {}
                }
            }
            Event::End(_) => {
                if let Some(location) = link.take() {
                    add(&mut found, &location);
                }
                if entry_at == Some(depth) {
                    entry_at = None;
                }
                depth = depth.saturating_sub(1);
            }
            Event::Text(text) => write(&mut link, &text),
            Event::CData(text) => write(&mut link, &text),
            // What nobody declared is in no address.
            Event::GeneralRef(name) => write(&mut link, character_of(&name).unwrap_or('\0').encode_utf8(&mut [0; 4])),
            Event::Eof => break,
            _ => {}
        }
        if found.len() >= MOST_ENTRIES {
            break;
        }
    }
    is_feed.then_some(found)
}

/// Where a link of Atom leads to the entry itself.
fn href(link: &BytesStart<'_>) -> Option<String> {
    let attribute = |name: &str| {
        let found = link.attributes().flatten().find(|attribute| attribute.key.as_ref() == name)?;
        Some(found.normalized_value(quick_xml::XmlVersion::Implicit1_0).ok()?.into_owned())
    };
    let is_entry = attribute("rel").is_none_or(|rel| rel == "alternate");
    let href = attribute("href")?;
    Some(if is_entry { href } else { String::new() })
}

fn write(link: &mut Option<String>, text: &str) {
    if let Some(link) = link.as_mut().filter(|link| link.len() <= LONGEST) {
        link.push_str(text);
    }
}

/// A query says which document is shown with one parameter; more of them show what has changed, or the like.
fn add(found: &mut Vec<String>, location: &str) {
    let location = location.trim();
    if (1..=LONGEST).contains(&location.len()) && !location.contains(['\0', '&']) {
        found.push(location.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_list_their_entries() {
        let rss = "<?xml version='1.0'?><rss version='2.0'><channel><link>http://site.test/</link>\
                   <atom:link href='http://site.test/feed/' rel='self'/>\
                   <item><title>A</title><link> http://site.test/a </link><comments>http://site.test/a#c</comments></item>\
                   <item><link><![CDATA[http://site.test/?p=7]]></link></item>\
                   <item><link>http://site.test/doku.php?id=x&amp;do=diff</link></item>\
                   <item><guid>http://site.test/g</guid></item></channel></rss>";
        assert_eq!(read(rss).unwrap(), ["http://site.test/a", "http://site.test/?p=7"]);
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://site.test/'/><entry><title>B</title>\
                    <link rel='edit' href='/edit/5'/><link href='/b'/><link rel='alternate' href='/b2'/>\
                    <content type='xhtml'><div><link href='/no'/></div></content></entry></feed>";
        assert_eq!(read(atom).unwrap(), ["/b", "/b2"]);
        let rdf = "<rdf:RDF xmlns:rdf='x'><channel><link>http://site.test/</link></channel>\
                   <item rdf:about='x'><link>http://site.test/c</link></item></rdf:RDF>";
        assert_eq!(read(rdf).unwrap(), ["http://site.test/c"]);
    }

    #[test]
    fn what_is_no_feed_is_none() {
        for text in ["", "<html><item><link>x</link></item></html>", "<!DOCTYPE rss [<!ENTITY a 'b'>]><rss/>"] {
            assert_eq!(read(text), None, "{text}");
        }
        let deep = format!("<rss>{}", "<a>".repeat(DEEPEST));
        assert_eq!(read(&deep), None);
        let many = format!("<feed>{}</feed>", "<entry><link href='/x'/></entry>".repeat(MOST_ENTRIES + 5));
        assert_eq!(read(&many).unwrap().len(), MOST_ENTRIES);
        assert_eq!(read(&format!("<rss><item><link>{}</link></item></rss>", "x".repeat(5_000))).unwrap(), [""; 0]);
    }
}
