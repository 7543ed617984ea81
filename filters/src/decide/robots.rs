//! The site's robots.txt with the signals and the sitemap in it, or a robots.txt of our own where the site has none.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{
    Decision, Desk,
    made::{Made, Question, SMALL_BYTES, Site},
};
use crate::{
    desk::{Answer, GENERATED},
    etag, media,
    page::{kind, robots, validators::OF_BYTES},
};

impl Desk<'_> {
    pub(super) async fn robots(&self, site: &dyn Site) -> Option<Made> {
        let robots = self.snapshot.robots.as_ref()?;
        let sitemap = robots.sitemap(&self.origin());
        let added = robots.added(sitemap.as_deref());
        let target = self.request.target;
        let got = site.get(Question { target, accept: Some("text/plain, */*;q=0.5"), most: robots_most }).await?;
        let mut answer = got.whole()?;
        let cache_control = answer.headers.get_all(header::CACHE_CONTROL).iter().filter_map(|v| v.to_str().ok());
        let plain = answer.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
        let plain = plain.is_some_and(|kind| media::essence(kind).eq_ignore_ascii_case("text/plain"));
        let file = match answer.status {
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                answer = Answer {
                    status: StatusCode::OK,
                    headers: HeaderMap::from_iter([
                        (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
                        (header::CACHE_CONTROL, HeaderValue::from_static("max-age=3600")),
                        (GENERATED, HeaderValue::from_static("1")),
                    ]),
                    body: Bytes::new(),
                };
                Some(robots::generated(&added))
            }
            StatusCode::OK
                if plain
                    && !answer.headers.contains_key(header::CONTENT_ENCODING)
                    && !kind::no_transform(cache_control) =>
            {
                robots::with(&added, &answer.body)
            }
            _ => None,
        };
        let Some(file) = file else {
            return Some(Made::of(Decision::Answer(self.relayed(answer)), "robots_own"));
        };
        answer.body = file.into();
        for name in OF_BYTES.iter().chain(&[header::ETAG, header::LAST_MODIFIED]) {
            answer.headers.remove(name);
        }
        let tag = etag::strong(&answer.body);
        if etag::matches(self.request.headers, &tag) {
            answer.status = StatusCode::NOT_MODIFIED;
        }
        answer.headers.insert(header::ETAG, tag);
        Some(Made::of(Decision::Answer(self.relayed(answer)), "robots"))
    }
}

fn robots_most(status: StatusCode, _: &HeaderMap) -> Option<usize> {
    Some(if status == StatusCode::OK { robots::MAX_BYTES } else { SMALL_BYTES })
}
