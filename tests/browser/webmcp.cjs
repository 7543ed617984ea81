// WebMCP in a browser, with the polyfill from npm: the script registers what can be called, calls work in the person's
// session, and pages whose policy does not allow it, or that have no modelContext, see nothing of it.
// Usage: node webmcp.cjs FRONTDESK CHROMIUM DIRECTORY
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");
const { answers, freePort, listening, run } = require("./started.cjs");

const [, , frontdesk, executablePath, at] = process.argv;
const say = (text) => console.log(`browser: ${text}`);
const polyfill = fs.readFileSync(path.join(at, "node_modules/@mcp-b/webmcp-polyfill/dist/index.iife.js"));
const NONCE = "bm9uY2U";

const page = (head) => `<!doctype html><html lang="en"><head><title>Tea</title>${head}</head><body><main><h1>Tea</h1>
<p>Green tea is steeped at seventy degrees for two minutes.</p></main></body></html>`;
const POLICIES = {
  "/": ["script-src 'self'; object-src 'none'", '<script src="/polyfill.js"></script>'],
  "/plain": ["script-src 'self'", ""],
  "/nonce": [`script-src 'nonce-${NONCE}'`, `<script src="/polyfill.js" nonce="${NONCE}"></script>`],
  "/open": ["", '<script src="/polyfill.js"></script>'],
};

/** The site, and what its own API was asked. */
function site(calls) {
  return listening((request, response) => {
    const where = request.url.split("?")[0];
    if (where === "/polyfill.js") return response.writeHead(200, { "Content-Type": "text/javascript" }).end(polyfill);
    if (where === "/favicon.ico") return response.writeHead(204).end();
    if (where === "/api/items") {
      calls.push(request.url);
      return response.writeHead(200, { "Content-Type": "application/json" }).end('{"items":["sencha"]}');
    }
    const [policy, head] = POLICIES[where] || [];
    if (head === undefined) return response.writeHead(404, { "Content-Type": "text/plain" }).end("none");
    const headers = { "Content-Type": "text/html; charset=utf-8" };
    if (policy) headers["Content-Security-Policy"] = policy;
    response.writeHead(200, headers).end(page(head));
  });
}

const configuration = (listen, admin, upstream) => `
[listen]
http = "127.0.0.1:${listen}"
admin = "127.0.0.1:${admin}"
[upstream]
url = "http://127.0.0.1:${upstream}"
[discovery]
webmcp = true
[log]
access = false
[[capabilities]]
id = "items.search"
type = "query"
description = "Searches the items of the shop."
method = "POST"
endpoint = "/agent/items"
risk_level = "low"
auth = "none"
input_schema = { type = "object", required = ["q"], properties = { q = { type = "string" } } }
[capabilities.upstream]
method = "GET"
path = "/api/items"
`;

async function started(upstream) {
  const [listen, admin] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${listen}`;
  const desk = await run(frontdesk, at, "webmcp", configuration(listen, admin, upstream), () => answers(`${url}/llms.txt`, "Tea"));
  return { desk, url };
}

/** Opens a page: what it asked for, what the browser complained about, and whether the script is in it. */
async function opened(browser, url) {
  const tab = await (await browser.newContext()).newPage();
  const [asked, complaints] = [[], []];
  tab.on("request", (request) => asked.push(new URL(request.url()).pathname));
  tab.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  tab.on("pageerror", (error) => complaints.push(String(error)));
  await tab.goto(url, { waitUntil: "networkidle" });
  const loads = await tab.locator('script[src="/.well-known/webmcp.js"][async]').count();
  assert.deepEqual(complaints, [], url);
  return { tab, asked, loads };
}

async function main() {
  const calls = [];
  const server = await site(calls);
  const { desk, url } = await started(server.address().port);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const { tab, loads } = await opened(browser, `${url}/`);
    assert.equal(loads, 1, "the policy allows it");
    const tools = await tab.evaluate(async () => (await document.modelContext.getTools()).map(({ name }) => name));
    for (const name of ["content_search", "items_search"]) assert.ok(tools.includes(name), `${name} in ${tools}`);
    const call = (name, input) => tab.evaluate(async ([name, input]) => {
      const tool = (await document.modelContext.getTools()).find((tool) => tool.name === name);
      return JSON.stringify(await document.modelContext.executeTool(tool, JSON.stringify(input)));
    }, [name, input]);
    const found = await call("items_search", { q: "tea" });
    assert.ok(found.includes("sencha"), found);
    assert.ok(calls.some((target) => target.includes("q=tea")), calls);
    const answer = await call("content_search", { query: "How hot is green tea steeped?" });
    assert.ok(answer.includes("seventy"), answer);
    say(`webmcp: ${tools.length} tools, called in the page`);

    const plain = await opened(browser, `${url}/plain`);
    assert.equal(plain.loads, 1);
    assert.ok(!plain.asked.includes("/openapi.json"), "without modelContext it asks for nothing");
    for (const where of ["/nonce", "/open"]) {
      const { loads, tab } = await opened(browser, `${url}${where}`);
      assert.equal(loads, 0, where);
      assert.equal(await tab.evaluate(async () => (await document.modelContext.getTools()).length), 0, where);
    }
    say("webmcp: nothing where the policy does not allow it, and where there is none");
  } finally {
    await browser.close();
    await desk.close();
    server.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
