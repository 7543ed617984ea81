//! Common web servers with a site of files, each on its own port: nginx and Apache from their Debian packages.

use super::dir::Dir;
use super::{SOON, eventually};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tokio::net::TcpStream;

pub struct WebServer {
    pub addr: SocketAddr,
    process: Child,
    _dir: Dir,
}

/// The packages' defaults, except for paths and the usual compression settings.
const NGINX: &str = r#"
worker_processes 1;
daemon off;
pid DIR/nginx.pid;
error_log DIR/error.log;
events { worker_connections 64; }
http {
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  access_log off;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi;
  uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  gzip on;
  gzip_types text/css application/javascript application/json;
  server { listen ADDRESS; root DIR/site; }
}
"#;

const APACHE: &str = r#"
ServerRoot DIR
ServerName localhost
PidFile DIR/apache.pid
ErrorLog DIR/error.log
Listen ADDRESS
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
TypesConfig /etc/mime.types
AddType application/javascript .js
AddType application/json .json
AddOutputFilterByType DEFLATE text/html text/css application/javascript application/json
DocumentRoot DIR/site
DirectoryIndex index.html
"#;

impl WebServer {
    pub async fn nginx(files: &[(&str, &str)]) -> WebServer {
        WebServer::start(NGINX, files, |file| {
            let mut nginx = Command::new("nginx");
            nginx.arg("-c").arg(file);
            nginx
        })
        .await
    }

    pub async fn apache(files: &[(&str, &str)]) -> WebServer {
        WebServer::start(APACHE, files, |file| {
            let mut apache = Command::new("apache2");
            apache.args(["-D", "FOREGROUND", "-f"]).arg(file);
            apache
        })
        .await
    }

    async fn start(config: &str, files: &[(&str, &str)], program: impl FnOnce(&Path) -> Command) -> WebServer {
        let addr = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
        let dir = Dir::new();
        std::fs::create_dir(dir.join("site")).expect("a directory for the site");
        for (name, text) in files {
            dir.write(&format!("site/{name}"), text);
        }
        // A server started as root drops to another user.
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path(), all).expect("permissions");
        let config = config.replace("DIR", &dir.path().to_string_lossy()).replace("ADDRESS", &addr.to_string());
        let file = dir.write("server.conf", config);
        let mut program = program(&file);
        let process = program.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let process = process.unwrap_or_else(|e| panic!("{program:?} does not start ({e}); deploy/setup installs it"));
        eventually("the web server listens", SOON, async || TcpStream::connect(addr).await.is_ok()).await;
        WebServer { addr, process, _dir: dir }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // SIGTERM also ends its workers; SIGKILL would leave them running.
        let pid = nix::unistd::Pid::from_raw(self.process.id().try_into().expect("a pid"));
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let _ = self.process.wait();
    }
}
