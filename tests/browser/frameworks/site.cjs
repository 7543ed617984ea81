// A site whose pages are made by frameworks, and one whose styles show what others hide. Its policy allows no inline style.
"use strict";
const fs = require("node:fs");
const http = require("node:http");
const { build } = require("./build.cjs");

const POLICY = "default-src 'self'; script-src 'self' 'unsafe-inline'";
const FRAMEWORKS = ["react18", "react19", "vue", "svelte"];

/** What resets and layouts of sites say. */
const STYLES = `
article, aside, details, figcaption, figure, footer, header, hgroup, menu, nav, section { display: block }
body { display: flex; min-height: 100vh; margin: 0 }
body > * { flex: 1 }
section, aside, main { display: grid }
`;
/** And what few do. */
const HARSH = `${STYLES} body > div { display: flex } div { display: block }`;

/** The pages: by path, what framework and how. */
const PAGES = {
  "/react18/document": { framework: "react18", what: "document", first: "div" },
  "/react18/section": { framework: "react18", what: "document", first: "section" },
  "/react18/div": { framework: "react18", what: "div" },
  "/react18/stream": { framework: "react18", what: "stream", first: "div" },
  "/react19/document": { framework: "react19", what: "document", first: "div" },
  "/react19/section": { framework: "react19", what: "document", first: "section" },
  "/react19/div": { framework: "react19", what: "div" },
  "/react19/stream": { framework: "react19", what: "stream", first: "div" },
  "/vue": { framework: "vue" },
  "/svelte": { framework: "svelte" },
};

/** `at`: where packages and what is built are. */
async function site(at) {
  const built = {};
  for (const name of FRAMEWORKS) built[name] = await build(name, at);
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://site");
    const page = PAGES[pathname];
    const framework = /^\/(\w+)\.js$/.exec(pathname)?.[1];
    if (page) {
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": POLICY });
      const { framework: name, what = "", first = "" } = page;
      built[name].serve(page, what ? `/${name}.js?what=${what}&first=${first}` : `/${name}.js`, response);
    } else if (built[framework]) {
      response.writeHead(200, { "Content-Type": "text/javascript" }).end(fs.readFileSync(built[framework].client));
    } else if (pathname === "/styles.css" || pathname === "/harsh.css") {
      response.writeHead(200, { "Content-Type": "text/css" }).end(pathname === "/harsh.css" ? HARSH : STYLES);
    } else if (pathname === "/styles" || pathname === "/harsh") {
      response.writeHead(200, { "Content-Type": "text/html", "Content-Security-Policy": POLICY });
      response.end(`<!doctype html><title>Styles</title><link rel=stylesheet href=${pathname}.css><body><main>Tea.</main></body>`);
    } else if (pathname === "/favicon.ico") {
      response.writeHead(204).end();
    } else {
      response.writeHead(404, { "Content-Type": "text/plain" }).end("no");
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

module.exports = { site, PAGES };
