//! `frontdesk inspect`: fetches the documents that `frontdesk-tools` requests and prints its report.

use std::{io::Write, process::ExitCode, time::Duration};

use frontdesk_tools::inspect::{Answer, BOUND, Inspection, Report};

use crate::{boot, outbound::Outbound};

/// How long one answer may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The exit code when the command could not do its work.
const FAILED: u8 = 2;

/// Inspects any site, with or without Frontdesk in front of it. `fail_below`: the exit code says only whether the
/// readiness level is at least this.
pub(super) fn inspect(url: &str, json: bool, fail_below: Option<u8>) -> ExitCode {
    let report = Inspection::new(url).and_then(|inspection| {
        boot::ready_for_tls().map_err(|not_started| not_started.0.join("; "))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        let report = runtime.block_on(ask(inspection));
        runtime.shutdown_background();
        Ok(report)
    });
    match report {
        Ok(report) => {
            let said = if json { format!("{:#}\n", report.to_json()) } else { report.to_string() };
            // The reader has closed the pipe: this is no failure.
            let _ = std::io::stdout().lock().write_all(said.as_bytes());
            ExitCode::from(fail_below.map_or(report.exit_code(), |level| report.exit_code_below(level.into())))
        }
        Err(why) => {
            eprintln!("frontdesk: {why}");
            ExitCode::from(FAILED)
        }
    }
}

async fn ask(mut inspection: Inspection) -> Report {
    let outbound = Outbound::new();
    while let Some(question) = inspection.next_question() {
        let whole = outbound.whole(&question.url, question.accept, BOUND, LIMIT).await;
        inspection.answer(whole.map(|whole| Answer {
            status: whole.status,
            headers: whole.headers,
            body: whole.body,
            cut: whole.cut,
        }));
    }
    inspection.report()
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    /// A site that answers every path with these bytes. It returns the first line of each request.
    async fn site(answer: Vec<u8>) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, told) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(socket.read_u8().await.unwrap());
                }
                let _ = tell.send(String::from_utf8(head).unwrap());
                let _ = socket.write_all(&answer).await;
            }
        });
        (url, told)
    }

    fn answer(head: &str, body: &[u8]) -> Vec<u8> {
        let length = body.len();
        [format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").as_bytes(), body].concat()
    }

    #[tokio::test]
    async fn a_site_is_asked_and_what_it_says_is_reported() {
        let (url, mut told) = site(answer("302 Found\r\nLocation: https://b.example/", b"")).await;
        let report = ask(Inspection::new(&url).unwrap()).await;
        assert_eq!(report.exit_code(), 2, "{report}");
        let first = told.recv().await.unwrap().to_lowercase();
        assert!(first.contains("host: 127.0.0.1:") && first.contains("accept: application/"), "{first}");
        assert!(!first.contains("x-forwarded"), "a stranger's site: {first}");
        assert!(report.to_string().contains("redirected to https://b.example/; not followed"), "{report}");
    }

    #[tokio::test]
    async fn more_than_the_bound_is_not_read() {
        let (url, _told) = site(answer("200 OK", &vec![b'#'; BOUND + 1])).await;
        let report = ask(Inspection::new(&url).unwrap()).await;
        assert!(report.exit_code() == 1 && report.to_string().contains("larger than"), "{report}");
    }

    #[tokio::test]
    async fn nobody_there() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let report = ask(Inspection::new(&url).unwrap()).await;
        assert!(report.exit_code() == 2 && report.to_string().contains("cannot be reached"), "{report}");
        println!("{report}");
    }
}
