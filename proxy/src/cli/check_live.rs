//! `frontdesk check --live`: asks the running site for the pages and reads that are declared, and says what fits.

use std::time::Duration;

use frontdesk_filters::{
    desk::live_check::{Found, Trial, Trials},
    site::{Settings, UpstreamUrl},
};
use http::header;
use url::Url;

use crate::{boot, outbound::Outbound};

/// How long one answer may take, and how many bytes of it are read.
const LIMIT: Duration = Duration::from_secs(10);
const BOUND: usize = 4 * 1024 * 1024;

/// Tries every capability that can be tried. Prints what was found; `false`: something does not fit.
pub(super) fn try_all(settings: &Settings) -> Result<bool, String> {
    boot::ready_for_tls().map_err(|not_started| not_started.0.join("; "))?;
    let Some(upstream) = settings.upstream.urls.first() else {
        return Err("there is no [upstream] to ask".to_owned());
    };
    let site = Url::parse(&origin(upstream)).map_err(|why| why.to_string())?;
    let Trials { trials, left_out } = Trials::of(settings);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let all_fit = runtime.block_on(async {
        let outbound = Outbound::new();
        let mut all_fit = true;
        for trial in &trials {
            for Found { fits, what } in tried(&outbound, &site, trial).await {
                all_fit &= fits;
                println!("live: {}: {}{what}", trial.capability, if fits { "" } else { "NO LONGER FITS: " });
            }
        }
        all_fit
    });
    runtime.shutdown_background();
    for (capability, why) in left_out {
        println!("live: {capability}: not tried: it {why}");
    }
    if trials.is_empty() {
        println!("live: nothing is declared that can be tried");
    }
    Ok(all_fit)
}

async fn tried(outbound: &Outbound, site: &Url, trial: &Trial) -> Vec<Found> {
    let fails = |what: String| vec![Found { fits: false, what }];
    let Ok(at) = site.join(&trial.target) else { return fails("its path is no address".to_owned()) };
    match outbound.whole(at.as_str(), "text/html, application/json;q=0.9, */*;q=0.5", BOUND, LIMIT).await {
        Err(why) => fails(why),
        Ok(whole) if whole.cut => fails(format!("the site's answer is longer than {} MB", BOUND >> 20)),
        Ok(whole) => {
            let kind = whole.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
            trial.judge(whole.status, kind.unwrap_or_default(), &whole.body, &at)
        }
    }
}

fn origin(url: &UpstreamUrl) -> String {
    let host = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
    format!("{}://{host}:{}", if url.tls { "https" } else { "http" }, url.port)
}
