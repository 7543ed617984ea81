//! The files of the site that are not pages: style sheet, logo, robots.txt and site map.

use http::StatusCode;

use super::{
    pages::{FLIGHTS, PAGES},
    reply::Reply,
};

const DAY: &str = "public, max-age=86400";
/// The logo's width and height, in pixels.
const SIDE: u32 = 32;

/// All of them with their paths, for a site at `origin`.
pub fn all(origin: &str) -> Vec<(&'static str, Reply)> {
    let text = "text/plain; charset=utf-8";
    vec![
        ("/style.css", asset("text/css; charset=utf-8", include_str!("content/style.css"))),
        ("/logo.png", asset("image/png", logo())),
        ("/robots.txt", asset(text, robots(origin))),
        ("/sitemap.xml", asset("application/xml", sitemap(origin))),
        ("/healthz", Reply::new(StatusCode::OK, text, "ok\n")),
    ]
}

fn asset(content_type: &'static str, body: impl Into<bytes::Bytes>) -> Reply {
    Reply::new(StatusCode::OK, content_type, body).fixed(DAY)
}

fn robots(origin: &str) -> String {
    format!("User-agent: *\nDisallow: /api/\n\nSitemap: {origin}/sitemap.xml\n")
}

fn sitemap(origin: &str) -> String {
    let paths = PAGES.iter().map(|page| page.path).chain([FLIGHTS]);
    let urls: String = paths.map(|path| format!("  <url><loc>{origin}{path}</loc></url>\n")).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{urls}</urlset>\n"
    )
}

/// The logo: a white rising arrow on a blue disc, as a PNG of four colours, two bits a pixel, uncompressed.
fn logo() -> Vec<u8> {
    let mut pixels = Vec::new();
    for y in 0..SIDE {
        pixels.push(0); // this line is not filtered
        for x in (0..SIDE).step_by(4) {
            pixels.push((0..4).fold(0, |byte, n| byte << 2 | colour(x + n, y)));
        }
    }
    let mut header = [SIDE.to_be_bytes(), SIDE.to_be_bytes()].concat();
    header.extend([2, 3, 0, 0, 0]); // two bits, palette, and nothing unusual

    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut png, b"IHDR", &header);
    chunk(&mut png, b"PLTE", &[0xff, 0xff, 0xff, 0x14, 0x53, 0x9a, 0xf2, 0x8c, 0x28, 0, 0, 0]);
    chunk(&mut png, b"tRNS", &[255, 255, 255, 0]);
    chunk(&mut png, b"IDAT", &zlib_stored(&pixels));
    chunk(&mut png, b"IEND", &[]);
    png
}

/// The palette index of a pixel: 0 white, 1 blue, 2 orange, 3 transparent.
fn colour(x: u32, y: u32) -> u8 {
    let from_centre = |v: u32| (2 * i64::from(v) + 1 - i64::from(SIDE)).pow(2);
    let (right, up) = (i64::from(x), i64::from(SIDE - 1 - y));
    if from_centre(x) + from_centre(y) > i64::from(SIDE).pow(2) {
        3
    } else if right.max(up) <= 24 && (right + up >= 38 || (right - up).abs() <= 2 && right + up >= 24) {
        0
    } else if up <= 7 {
        2
    } else {
        1
    }
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    png.extend((data.len() as u32).to_be_bytes());
    let start = png.len();
    png.extend(kind);
    png.extend(data);
    let sum = crc32(&png[start..]);
    png.extend(sum.to_be_bytes());
}

/// A zlib stream of one stored block; up to 65,535 bytes fit.
fn zlib_stored(data: &[u8]) -> Vec<u8> {
    let length = data.len() as u16;
    let mut stream = vec![0x78, 0x01, 0x01];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(data);
    stream.extend(adler32(data).to_be_bytes());
    stream
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

fn adler32(data: &[u8]) -> u32 {
    let (a, b) = data.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksums_are_the_known_ones() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b"IEND"), 0xae42_6082);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn the_logo_is_tiny_and_whole() {
        let png = logo();
        assert!(png.len() < 512, "{}", png.len());
        assert!(png.starts_with(b"\x89PNG") && png.ends_with(b"IEND\xae\x42\x60\x82"));
    }

    #[test]
    fn the_site_map_names_every_page() {
        let map = sitemap("http://here");
        assert_eq!(map.matches("<loc>http://here/").count(), PAGES.len() + 1);
    }
}
