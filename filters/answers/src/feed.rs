//! Feeds (RSS 2.0, RSS 1.0, Atom) as a list of items.

use serde_json::{Map, Value, json};

use crate::xml_text::Element;

/// Reads a feed; `None` where the document is none.
pub(crate) fn read(root: &Element) -> Option<Value> {
    let (about, items) = match root.name.as_str() {
        "rss" => {
            let channel = root.child("channel")?;
            (channel, channel)
        }
        "RDF" => (root.child("channel")?, root),
        "feed" => (root, root),
        _ => return None,
    };
    let entries = items.children.iter().filter(|child| matches!(child.name.as_str(), "item" | "entry"));
    let mut feed = Map::new();
    put(&mut feed, "title", about.said(&["title"]));
    put(&mut feed, "url", address(about));
    put(&mut feed, "description", about.said(&["description", "subtitle"]));
    put(&mut feed, "updated", about.said(&["updated", "lastBuildDate", "pubDate", "date"]));
    feed.insert("items".to_owned(), entries.map(item).collect());
    Some(feed.into())
}

fn item(entry: &Element) -> Value {
    let mut item = Map::new();
    put(&mut item, "title", entry.said(&["title"]));
    put(&mut item, "url", address(entry));
    put(&mut item, "id", entry.said(&["guid", "id"]).or_else(|| entry.attribute("about")));
    put(&mut item, "published", entry.said(&["pubDate", "published", "issued", "date"]));
    put(&mut item, "updated", entry.said(&["updated", "modified"]));
    let author =
        entry.child("author").and_then(|author| author.said(&["name"])).or_else(|| entry.said(&["creator", "author"]));
    put(&mut item, "author", author);
    put(&mut item, "summary", entry.said(&["description", "summary"]));
    put(&mut item, "content", entry.said(&["encoded", "content"]));
    let categories: Vec<&str> = entry
        .children
        .iter()
        .filter(|child| matches!(child.name.as_str(), "category" | "subject"))
        .filter_map(|child| child.attribute("term").or(Some(child.text.trim())).filter(|text| !text.is_empty()))
        .collect();
    if !categories.is_empty() {
        item.insert("categories".to_owned(), json!(categories));
    }
    item.into()
}

/// Where an entry leads: the text of RSS's link, or Atom's `alternate`.
fn address(element: &Element) -> Option<&str> {
    let links = || element.children.iter().filter(|child| child.name == "link");
    let alternate = links()
        .filter(|link| link.attribute("rel").is_none_or(|rel| rel == "alternate"))
        .find_map(|link| link.attribute("href"));
    alternate.or_else(|| links().map(|link| link.text.trim()).find(|text| !text.is_empty()))
}

fn put(object: &mut Map<String, Value>, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        object.insert(name.to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml;

    #[test]
    fn feeds_of_every_kind_are_items() {
        let rss = "<rss version='2.0' xmlns:dc='x'><channel><title>News</title><link>/n</link><item><title>A</title>\
                   <link>https://s/a</link><guid>1</guid><pubDate>Sat, 09 May 2026 12:00:00 GMT</pubDate>\
                   <dc:creator>M</dc:creator><description><![CDATA[<p>x</p>]]></description><category>c</category>\
                   </item></channel></rss>";
        assert_eq!(
            xml::read(rss).unwrap(),
            json!({ "title": "News", "url": "/n", "items": [{ "title": "A", "url": "https://s/a", "id": "1",
                "published": "Sat, 09 May 2026 12:00:00 GMT", "author": "M", "summary": "<p>x</p>",
                "categories": ["c"] }] })
        );
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><title>F</title><link rel='self' href='/self'/>\
                    <link href='/f'/><entry><title>E</title><link rel='alternate' href='/e'/><id>u</id>\
                    <updated>2026-05-09T12:00:00Z</updated><author><name>N</name></author><category term='t'/>\
                    <summary>s</summary></entry></feed>";
        assert_eq!(
            xml::read(atom).unwrap(),
            json!({ "title": "F", "url": "/f", "items": [{ "title": "E", "url": "/e", "id": "u",
                "updated": "2026-05-09T12:00:00Z", "author": "N", "summary": "s", "categories": ["t"] }] })
        );
        let rdf = "<rdf:RDF xmlns:rdf='r'><channel><title>R</title></channel><item rdf:about='i'><title>x</title>\
                   <link>/x</link></item></rdf:RDF>";
        assert_eq!(
            xml::read(rdf).unwrap(),
            json!({ "title": "R", "items": [{ "title": "x", "url": "/x", "id": "i" }] })
        );
    }
}
