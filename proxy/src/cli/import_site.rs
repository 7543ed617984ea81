//! `frontdesk import site URL`: reads a site by GET alone, and writes what agents could call there.

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use frontdesk_tools::{
    import::Imported,
    site::{BOUND, SiteImport},
};
use http::header;

use super::{Import, new_file::write};
use crate::{boot, outbound::Outbound};

/// How long one page may take, and how long is waited between two.
const LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn import(args: &Import) -> ExitCode {
    let imported = match read(&args.from) {
        Ok(imported) => imported,
        Err(why) => {
            for line in why.lines() {
                eprintln!("{}: {line}", args.from);
            }
            return ExitCode::from(2);
        }
    };
    let written = match &args.out {
        Some(file) => {
            write(file, imported.text.as_bytes(), args.force).map_err(|why| format!("{}: {why}", file.display()))
        }
        None => {
            let mut out = io::stdout().lock();
            match out.write_all(imported.text.as_bytes()).and_then(|()| out.flush()) {
                // The reader has closed the pipe: this is no failure.
                Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                    Err(format!("standard output cannot be written: {e}"))
                }
                _ => Ok(()),
            }
        }
    };
    if let Err(why) = written {
        eprintln!("{why}");
        return ExitCode::from(if args.out.as_ref().is_some_and(|out| out.exists()) { 1 } else { 2 });
    }
    let Imported { capabilities, left_out, reviews, .. } = imported;
    eprintln!(
        "{capabilities} capabilities, {left_out} forms left out, {reviews} guesses to review: look for \"review:\""
    );
    if let Some(file) = &args.out {
        eprintln!("then run: frontdesk check {0}, and frontdesk run --config {0}", file.display());
    }
    ExitCode::SUCCESS
}

fn read(url: &str) -> Result<Imported, String> {
    let mut import = SiteImport::new(url)?;
    boot::ready_for_tls().map_err(|not_started| not_started.0.join("; "))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let (read, failed) = runtime.block_on(async {
        let outbound = Outbound::new();
        let (mut read, mut failed) = (0, String::new());
        while let Some(at) = import.next_page() {
            match outbound
                .whole(at.as_str(), "text/html, application/opensearchdescription+xml;q=0.9, */*;q=0.1", BOUND, LIMIT)
                .await
            {
                Ok(whole) => {
                    read += 1;
                    let text = |name| whole.headers.get(name).and_then(|value| value.to_str().ok());
                    let location = text(header::LOCATION).filter(|_| whole.status.is_redirection());
                    if location.is_some() || whole.status.is_success() {
                        import.take(&at, text(header::CONTENT_TYPE).unwrap_or_default(), &whole.body, location);
                    }
                }
                Err(why) => failed = why,
            }
            tokio::time::sleep(PAUSE).await;
        }
        (read, failed)
    });
    runtime.shutdown_background();
    if read == 0 {
        return Err(failed);
    }
    import.finish()
}
