//! What the operator lets the crawler read of a site, and what the site is.

use std::net::SocketAddr;

use frontdesk_base::{path, text::hex};
use ring::digest;
use url::Url;

use super::{authority::authorities, glob::Glob};

/// Paths that the operator names: those that are not read (`content.exclude`), and those whose links are followed
/// (`content.follow`).
#[derive(Debug, Clone, PartialEq)]
pub struct Paths {
    globs: Vec<Glob>,
    any_case: bool,
}

impl Paths {
    /// A path stands for all below it, and "/x/*" for "/x" as well.
    pub fn new(written: &[String]) -> Self {
        let above = |written: &str| written.strip_suffix("/*").filter(|above| !above.is_empty()).map(str::to_owned);
        let glob = |written: &String| Glob::whole(&above(written).unwrap_or_else(|| written.clone()));
        Self { globs: written.iter().map(glob).collect(), any_case: false }
    }

    /// The same without regard to letter case: many servers answer `/Admin` and `/admin` alike, so what keeps something
    /// out has to cover both.
    pub fn in_any_case(written: &[String]) -> Self {
        let lower: Vec<String> = written.iter().map(|written| written.to_lowercase()).collect();
        Self { any_case: true, ..Self::new(&lower) }
    }

    /// Whether a target is one of them or below one, in whatever spelling.
    pub fn covers(&self, target: &str) -> bool {
        if self.globs.is_empty() {
            return false;
        }
        let mut canonical = path::canonical(target);
        if self.any_case {
            canonical = canonical.to_lowercase().into();
        }
        let ends = canonical.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0).chain([canonical.len()]);
        let mut above = ends.map(|end| &canonical[..end]);
        above.any(|path| self.globs.iter().any(|glob| glob.matches(path)))
    }
}

/// What is configured of how a site is read.
#[derive(Debug, Clone)]
pub struct CrawlSettings {
    /// `site.origin`: by what name the site goes, where somebody said.
    pub origin: Option<String>,
    /// `upstream.preserve_host`: the upstream is asked by the names that people use.
    pub preserve_host: bool,
    /// The addresses on which this process listens.
    pub listen: Vec<SocketAddr>,
    /// `content.start`: paths, perhaps with queries.
    pub start: Vec<String>,
    /// `content.exclude`: paths, with `*` for anything.
    pub exclude: Vec<String>,
    /// `content.follow`: paths, with `*` for anything.
    pub follow: Vec<String>,
    /// `content.follow_queries`.
    pub follow_queries: bool,
    /// `content.max_pages`.
    pub max_pages: usize,
}

/// What may be read of a site.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// As links name the site.
    pub origin: Url,
    /// Somebody said that it goes by that name; else it is the upstream's, which is nobody's business.
    pub(super) is_named: bool,
    /// Under this name it may link to itself too: what its upstream is called.
    pub(super) also: Option<Url>,
    /// `content.start`.
    pub start: Vec<String>,
    exclude: Paths,
    /// `content.follow`.
    follow: Paths,
    /// Nobody said by what name the site goes, and its upstream is asked by the names that people use.
    pub(super) learns_name: bool,
    /// Where this process listens: that is the site as well.
    pub(super) own: Vec<String>,
    /// `content.follow_queries`.
    pub(super) follow_queries: bool,
    /// `content.max_pages`.
    pub max_pages: usize,
}

impl Rules {
    /// From the settings, for a site whose upstream goes by `upstream`: `http://host:port`. `None` where that is no URL.
    pub fn new(settings: CrawlSettings, upstream: &str) -> Option<Self> {
        let parsed = Url::parse(upstream).ok();
        let origin = settings.origin.as_deref().and_then(|origin| Url::parse(origin).ok());
        Some(Self {
            also: parsed.clone().filter(|_| origin.is_some()),
            is_named: origin.is_some(),
            origin: origin.or(parsed)?,
            exclude: Paths::in_any_case(&settings.exclude),
            follow: Paths::new(&settings.follow),
            learns_name: settings.origin.is_none() && settings.preserve_host,
            own: settings.listen.iter().flat_map(authorities).collect(),
            start: settings.start,
            follow_queries: settings.follow_queries,
            max_pages: settings.max_pages,
        })
    }

    /// What tells the site from others.
    pub fn site(&self) -> String {
        let name = format!("{:?}", (&self.origin, &self.also));
        // What an earlier version of Frontdesk kept by other rules is not used again.
        short(&if self.is_named { format!("{name}, by proof") } else { format!("{name}, by paths and proof") })
    }

    /// What tells these rules from others.
    pub fn name(&self) -> String {
        short(&format!("{:?}", (&self.start, &self.exclude, &self.follow, self.follow_queries, self.max_pages)))
    }

    /// Whether the operator keeps it from being read.
    pub(super) fn excludes(&self, target: &str) -> bool {
        self.exclude.covers(target)
    }

    /// Whether the operator says that this is a document.
    pub(super) fn follows(&self, target: &str) -> bool {
        self.follow.covers(target)
    }
}

fn short(written: &str) -> String {
    hex(&digest::digest(&digest::SHA256, written.as_bytes()).as_ref()[..16])
}

#[cfg(test)]
mod tests {
    use super::{super::testing, *};

    fn rules(more: &str) -> Rules {
        testing::rules(&format!("[upstream]\nurl = 'http://10.0.0.1:3000'\n{more}"))
    }

    #[test]
    fn what_is_excluded_is_excluded_in_every_spelling() {
        let rules = rules("[content]\nexclude = ['/admin/*', '/private', '/*/drafts', '/old*']\n");
        for target in [
            "/admin",
            "/admin/",
            "/admin/x?y",
            "//admin/x",
            "/%61dmin/x",
            "/x/../admin",
            "/private",
            "/private/x",
            "/a/drafts/1",
            "/older",
            "/old/x",
            "/Admin/x",
            "/%41DMIN",
            "/PRIVATE/X",
            "/A/Drafts",
        ] {
            assert!(rules.excludes(target), "{target}");
        }
        for target in ["/", "/administration", "/privateer", "/x/admin", "/drafts"] {
            assert!(!rules.excludes(target), "{target}");
        }
        let upper = self::rules("[content]\nexclude = ['/Interna']\nfollow = ['/Docs']\n");
        assert!(upper.excludes("/interna/x") && upper.excludes("/INTERNA") && upper.follows("/Docs/x"));
        assert!(!upper.follows("/docs/x"), "what lets something in is read as it is written");
        let all = self::rules("[content]\nexclude = ['/*']\nfollow = ['/*']\n");
        for target in ["/", "/x", "/x/y?z"] {
            assert!(all.excludes(target) && all.follows(target), "{target}");
        }
    }
}
