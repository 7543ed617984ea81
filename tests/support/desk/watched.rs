//! Observes a desk: its metrics, its log, and the kernel's statistics of its process.

use super::Desk;
use crate::support::{SOON, eventually};
use std::path::Path;

impl Desk {
    /// The sum of a metric's samples: `name`, or `name{label="value"}` for those with this label.
    pub async fn metric(&self, selector: &str) -> Option<f64> {
        let (name, label) = selector.split_once('{').unwrap_or((selector, "}"));
        let label = label.trim_end_matches('}');
        let text = self.admin_get("/metrics").await.text();
        let samples = text.lines().filter_map(|line| {
            let (sample, value) = line.rsplit_once(' ')?;
            let (sample_name, labels) = sample.split_once('{').unwrap_or((sample, ""));
            (sample_name == name && labels.contains(label)).then(|| value.parse::<f64>().ok())?
        });
        samples.reduce(|a, b| a + b)
    }

    /// Waits until a counter or gauge is at least `least`.
    pub async fn metric_reaches(&self, selector: &str, least: f64) {
        let what = format!("{selector} ≥ {least}");
        eventually(&what, SOON, async || self.metric(selector).await.is_some_and(|v| v >= least)).await;
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout.lock().expect("stdout")).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().expect("stderr")).into_owned()
    }

    /// The access log so far, line by line.
    pub fn access_log(&self) -> Vec<serde_json::Value> {
        self.stdout().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits until standard error contains a text.
    pub async fn says(&self, what: &str) {
        eventually(what, SOON, async || self.stderr().contains(what)).await;
    }

    /// The resident memory now.
    pub fn rss_kb(&self) -> u64 {
        self.proc_status("VmRSS:")
    }

    /// The peak resident memory.
    pub fn rss_peak_kb(&self) -> u64 {
        self.proc_status("VmHWM:")
    }

    /// The CPU time of its threads in hundredths of a second.
    pub fn cpu_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(Path::new("/proc").join(self.child.id().to_string()).join("stat"));
        let stat = stat.expect("the child's times");
        let (_, fields) = stat.rsplit_once(')').expect("its name");
        fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
    }

    /// The number of open descriptors.
    pub fn descriptors(&self) -> usize {
        let all = std::fs::read_dir(Path::new("/proc").join(self.child.id().to_string()).join("fd"));
        all.expect("the child's descriptors").count()
    }

    fn proc_status(&self, key: &str) -> u64 {
        let status = std::fs::read_to_string(Path::new("/proc").join(self.child.id().to_string()).join("status"));
        let status = status.expect("the child's status");
        let line = status.lines().find(|l| l.starts_with(key)).unwrap_or_else(|| panic!("no {key}"));
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number of kilobytes")
    }
}
