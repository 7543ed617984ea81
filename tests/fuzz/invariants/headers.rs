//! What holds of Accept, Link and Forwarded, whatever they say: what is written by their grammar is read as it was
//! meant, and what else stands in the field changes nothing of it. One list, for the fuzzer and for the tests.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{
    accept,
    dice::Dice,
    forwarded::{self, Meaning},
    links,
};

/// Panics where one of them does not hold. The first byte chooses the field, and whether the rest is the field itself
/// or what chooses its words.
pub fn hold(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    let mut dice = Dice(rest);
    match choice % 8 {
        0 => drop(dice.text().map(any_accept)),
        1 => written_accept(&mut dice),
        2 => drop(dice.text().map(any_link)),
        3 => written_link(&mut dice),
        4 => any_forwarded(rest),
        5 => written_forwarded(&mut dice),
        6 => any_name(rest),
        _ => any_page(rest),
    }
}

/// A quoted string as it stands between its quotes; the separators in it separate nothing.
fn quoted(dice: &mut Dice) -> &'static str {
    dice.of(&[
        "",
        "a",
        "a,b",
        "a;b",
        ";q=0",
        ", */*;q=1",
        "\\\"",
        "\\\\",
        "\\\",\\\"",
        "<a>; rel=no",
        "=",
        " ",
        ";rel=no",
    ])
}

fn space(dice: &mut Dice) -> &'static str {
    dice.of(&["", " ", "\t", "  "])
}

fn any_accept(text: &str) {
    let members: Vec<_> = accept::members(text).collect();
    for member in &members {
        assert!(!member.media.is_empty() && member.media == member.media.trim() && member.weight <= 1000);
        assert!(member.admits(member.media));
        let first = members.iter().find(|other| other.media.eq_ignore_ascii_case(member.media)).map(|m| m.weight);
        assert_eq!(
            accept::names(text, member.media),
            members.iter().any(|m| { m.weight > 0 && m.media.eq_ignore_ascii_case(member.media) })
        );
        if !member.media.contains('*') {
            assert_eq!(Some(accept::weight_of(text, member.media)), first);
        }
    }
    let preferred = accept::preferred(text);
    let most = members.iter().map(|member| member.weight).max().filter(|most| *most > 0);
    assert_eq!(preferred, most.and_then(|most| members.iter().find(|m| m.weight == most)).map(|m| m.media));
    if let Some(preferred) = preferred {
        assert!(accept::prefers_explicitly(text, preferred) && accept::names(text, preferred));
    }
    // What stands before it is read alike, whatever it is followed by.
    let after = format!("text/html;q=0.5;a=\"x,y;q=0\" ,, {text}");
    let with: Vec<_> = accept::members(&after).collect();
    assert_eq!((with[0].media, with[0].weight), ("text/html", 500));
    assert_eq!(&with[1..], members);
}

fn written_accept(dice: &mut Dice) {
    let (mut text, mut meant) = (String::new(), Vec::new());
    for n in 0..dice.below(6) {
        let media = dice.of(&["text/html", "Text/HTML", "*/*", "text/*", "application/agent+json", "a/b"]);
        text += if n > 0 { "," } else { "" };
        text += space(dice);
        text += media;
        let mut weight = 1000;
        let mut value = None;
        for _ in 0..dice.below(4) {
            text += space(dice);
            text += ";";
            text += space(dice);
            match dice.below(3) {
                0 if weight == 1000 => {
                    let (written, thousandths) =
                        dice.of(&[("0", 0), ("1.000", 1000), ("0.5", 500), ("0.", 0), ("0.001", 1), ("1", 1000)]);
                    // Of a weight that is there twice the first counts, as of any parameter.
                    if !text[text.rfind(media).unwrap_or(0)..].to_ascii_lowercase().contains("q=") {
                        weight = thousandths;
                        text += dice.of(&["q=", "Q="]);
                        text += written;
                    } else {
                        text += "x=y";
                    }
                }
                1 => {
                    let inside = quoted(dice);
                    value.get_or_insert(inside);
                    text += &format!("{}=\"{inside}\"", dice.of(&["p", "P"]));
                }
                _ => text += "other=a.b",
            }
        }
        text += space(dice);
        meant.push((media, weight, value));
    }
    let read: Vec<_> = accept::members(&text).map(|m| (m.media, m.weight, m.parameter("p"))).collect();
    assert_eq!(read, meant, "{text}");
}

fn any_link(text: &str) {
    let found = links::of_header(text);
    for link in &found {
        assert!(text.contains(&link.target) && link.rel == link.rel.to_ascii_lowercase());
    }
    let mut with = links::of_header(&format!("</a,b;c>; title=\"x, <y>; rel=z\\\"\"; rel=\"B c\", {text}"));
    assert!(with[0].is("b") && with[0].is("c") && with[0].target == "/a,b;c");
    with.remove(0);
    assert_eq!(with, found[..found.len().min(99)]);
}

fn written_link(dice: &mut Dice) {
    let (mut text, mut meant) = (String::new(), Vec::new());
    for n in 0..dice.below(6) {
        text += if n > 0 { "," } else { "" };
        text += dice.of(&["", " ", ",", " , "]);
        let target = dice.of(&["/a", "", "/a,b", "/?a=b;c", "https://a.example/\"", "urn:x:y"]);
        text += &format!("<{target}>");
        let mut rel: Option<&str> = None;
        for _ in 0..dice.below(4) {
            text += space(dice);
            text += ";";
            text += space(dice);
            match dice.below(4) {
                0 => {
                    let one = dice.of(&["next", "Agent-Interface", "https://a.example/rel"]);
                    rel.get_or_insert(one);
                    text += &format!("{}={one}", dice.of(&["rel", "REL"]));
                }
                1 => {
                    let some = dice.of(&["next", "A b", "", "a;b,c"]);
                    rel.get_or_insert(some);
                    text += &format!("rel={}\"{some}\"", space(dice));
                }
                2 => text += &format!("title=\"{}\"", quoted(dice)),
                _ => text += dice.of(&["crossorigin", "type=text/html", "rev=made"]),
            }
        }
        text += space(dice);
        if let Some(rel) = rel {
            meant.push((rel.to_ascii_lowercase(), target.to_owned()));
        }
    }
    let read: Vec<_> = links::of_header(&text).into_iter().map(|link| (link.rel, link.target)).collect();
    assert_eq!(read, meant, "{text}");
}

fn any_page(page: &[u8]) {
    let found = links::of_page(page);
    let mut with = links::of_page(&[b"<p><LINK x='>' rel=\"A b\"\nhref=/c?d&amp;e>", page].concat());
    assert_eq!((with[0].rel.as_str(), with[0].target.as_str()), ("a b", "/c?d&e"));
    with.remove(0);
    assert_eq!(with, found[..found.len().min(99)]);
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Who is meant by these lines, to a site behind 10.0.0.1, with 10.0.0.0/8 and fd00::/8 being its own.
fn client<'a>(name: &'static str, lines: impl IntoIterator<Item = &'a [u8]>) -> Option<IpAddr> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(line).ok()?);
    }
    let trusted = ["10.0.0.0/8".parse().expect("a network"), "fd00::/8".parse().expect("a network")];
    let stranger = ip("192.0.2.1");
    assert_eq!(forwarded::client_address(stranger, &headers, &trusted), stranger, "nobody else is believed");
    Some(forwarded::client_address(ip("10.0.0.1"), &headers, &trusted))
}

/// Whatever a client sends before it, the proxy's own word counts: on the same line or on one of its own.
fn any_forwarded(bytes: &[u8]) {
    let seen = Some(ip("203.0.113.7"));
    let own: [(&'static str, &[u8]); 5] = [
        ("x-forwarded-for", b"203.0.113.7"),
        ("x-forwarded-for", b"203.0.113.7:4711 , 10.9.9.9"),
        ("forwarded", b"for=203.0.113.7"),
        ("forwarded", b"proto=https;host=\"a;for=192.0.2.66,for=192.0.2.67\\\"\";For=\"203.0.113.7:_x\";by=10.0.0.2"),
        ("forwarded", b"for=203.0.113.7;host=\"\\\\\", for=\"[fd00::1]:80\""),
    ];
    for (name, line) in own {
        if client(name, [bytes]).is_none() {
            return;
        }
        let shown = || format!("{name}: {} + {}", String::from_utf8_lossy(bytes), String::from_utf8_lossy(line));
        assert_eq!(client(name, [&[bytes, b", ", line].concat()[..]]), seen, "{}", shown());
        assert_eq!(client(name, [&[bytes, b",", line].concat()[..]]), seen, "{}", shown());
        assert_eq!(client(name, [bytes, line]), seen, "{}", shown());
    }
}

fn written_forwarded(dice: &mut Dice) {
    let plain = dice.yes();
    let (mut lines, mut hops) = (vec![String::new()], Vec::new());
    for _ in 0..dice.below(6) {
        let (written, meant) = dice.of(&[
            ("198.51.100.7", Some("198.51.100.7")),
            ("198.51.100.8:80", Some("198.51.100.8")),
            ("10.1.1.1", Some("10.1.1.1")),
            ("10.1.1.2:65535", Some("10.1.1.2")),
            ("[2001:db8::7]", Some("2001:db8::7")),
            ("[2001:db8::8]:99", Some("2001:db8::8")),
            ("[fd00::9]:1", Some("fd00::9")),
            ("[::ffff:10.1.1.3]", Some("10.1.1.3")),
            ("unknown", None),
            ("_hidden", None),
            ("198.51.100.9:_p-1", Some("198.51.100.9")),
        ]);
        let mut line = String::new();
        if !lines[lines.len() - 1].is_empty() {
            if dice.yes() {
                line = format!("{}{},{}", lines.pop().unwrap_or_default(), space(dice), space(dice));
            }
        } else {
            lines.pop();
        }
        if plain {
            line += written;
        } else {
            let mut other = |line: &mut String, before: &str, after: &str| {
                if dice.yes() {
                    *line += &format!("{before}host=\"{}\"{after}", quoted(dice));
                }
            };
            other(&mut line, "", ";");
            line += &format!("for=\"{written}\"");
            other(&mut line, ";", "");
        }
        lines.push(line);
        hops.push(meant.map(ip));
    }
    let mut meant = ip("10.0.0.1");
    for hop in hops.into_iter().rev() {
        let Some(address) = hop else { break };
        meant = address;
        if !matches!(address, IpAddr::V4(a) if a.octets()[0] == 10) && !address.to_string().starts_with("fd00:") {
            break;
        }
    }
    lines.retain(|line| !line.is_empty());
    let name = if plain { "x-forwarded-for" } else { "forwarded" };
    assert_eq!(client(name, lines.iter().map(String::as_bytes)), Some(meant), "{name}: {lines:?}");
}

/// Names that a site may take for each other are all plain, or none of them is.
fn any_name(bytes: &[u8]) {
    let Ok(name) = HeaderName::from_bytes(bytes) else { return };
    let folded: String = name.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let Ok(folded) = HeaderName::try_from(folded) else { return };
    let (one, other) = (forwarded::meaning(name.as_ref()), forwarded::meaning(folded.as_ref()));
    assert_eq!(one == Meaning::Plain, other == Meaning::Plain, "{name}");
    assert!(name == folded || !matches!(one, Meaning::Ours | Meaning::Forwarding), "{name}");
}
