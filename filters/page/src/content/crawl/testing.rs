//! Rules for tests, from the lines of a configuration that they come from.

use toml::{Table, Value};

use super::{CrawlSettings, Rules};

/// Rules with the defaults of the configuration but for what is written here.
pub(super) fn rules(text: &str) -> Rules {
    let declared: Table = text.parse().unwrap();
    let mut upstream = None;
    let mut settings = CrawlSettings {
        origin: None,
        preserve_host: true,
        listen: Vec::new(),
        start: ["/sitemap.xml", "/llms.txt", "/"].map(str::to_owned).into(),
        exclude: vec!["/admin/*".into()],
        follow: Vec::new(),
        follow_queries: false,
        max_pages: 2_000,
    };
    for (table, keys) in &declared {
        for (key, value) in keys.as_table().unwrap() {
            match (table.as_str(), key.as_str()) {
                ("upstream", "url") => upstream = value.as_str(),
                ("upstream", "preserve_host") => settings.preserve_host = value.as_bool().unwrap(),
                ("listen", "http") => {
                    settings.listen = texts(value).iter().map(|address| address.parse().unwrap()).collect();
                }
                ("site", "origin") => settings.origin = value.as_str().map(str::to_owned),
                ("content", "start") => settings.start = texts(value),
                ("content", "exclude") => settings.exclude = texts(value),
                ("content", "follow") => settings.follow = texts(value),
                ("content", "follow_queries") => settings.follow_queries = value.as_bool().unwrap(),
                ("content", "max_pages") => settings.max_pages = value.as_integer().unwrap().try_into().unwrap(),
                _ => panic!("{table}.{key} is not for reading a site"),
            }
        }
    }
    Rules::new(settings, upstream.unwrap()).unwrap()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}
