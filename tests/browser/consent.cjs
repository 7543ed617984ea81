// A person lets an agent act for them in a real browser: login form, consent page, the redirect back, the list of agents.
// Usage: node consent.cjs FRONTDESK CHROMIUM DIRECTORY
"use strict";
const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const path = require("node:path");
const { chromium } = require("playwright-core");
const { answers, freePort, listening, run } = require("./started.cjs");

const [, , frontdesk, executablePath, at] = process.argv;
const say = (text) => console.log(`browser: ${text}`);

/** A site whose people sign in with a form and have a session cookie that no script and no other site can use. */
function site() {
  const sessions = new Map();
  return (request, response) => {
    const url = new URL(request.url, "http://site");
    const sid = /sid=(\w+)/.exec(request.headers.cookie || "")?.[1];
    const who = sessions.get(sid);
    if (url.pathname === "/login" && request.method === "POST") {
      let body = "";
      request.on("data", (part) => { body += part; });
      request.on("end", () => {
        const made = crypto.randomBytes(16).toString("hex");
        sessions.set(made, new URLSearchParams(body).get("user"));
        response.writeHead(303, { Location: url.searchParams.get("next"), "Set-Cookie": `sid=${made}; Path=/; HttpOnly; SameSite=Lax` });
        response.end();
      });
    } else if (url.pathname === "/login") {
      response.writeHead(200, { "Content-Type": "text/html" });
      response.end("<!doctype html><title>Sign in</title><form method=post><input name=user><button>Sign in</button></form>");
    } else if (url.pathname === "/api/me" && who) {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ id: who, name: "Ada Lovelace" }));
    } else {
      response.writeHead(who ? 200 : 401, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ who }));
    }
  };
}

const config = (port, admin, upstream, callback) => `
[listen]
http = "127.0.0.1:${port}"
admin = "127.0.0.1:${admin}"
[upstream]
url = "http://127.0.0.1:${upstream}"
[site]
name = "Acme Travel"
origin = "http://localhost:${port}"
[content]
start = []
[auth.visitor]
check = "/api/me"
subject = "/id"
name = "/name"
sign_in = "/login"
return_to = "next"
[auth.login]
cookies = ["sid"]
clients = "dynamic"
[[auth.login.clients_listed]]
id = "my-assistant"
name = "My Assistant"
redirect_uris = ["http://127.0.0.1:${callback}/cb"]
${[["orders", "query", "See your orders and where they are."], ["book", "commit_action", "Book a room and pay with the card on file."]].map(([id, type, description]) => `
[[capabilities]]
id = "${id}"
type = "${type}"
description = "${description}"
method = "POST"
endpoint = "/agent/${id}"
auth = "required"
upstream = { method = "POST", path = "/api/${id}", identity = "caller" }
`).join("")}`;

async function main() {
  const [port, admin, callback] = [await freePort(), await freePort(), await freePort()];
  const upstream = await listening(site());
  const seen = [];
  const client = await listening((request, response) => { seen.push(request.url); response.end("back at the agent"); }, callback);
  const base = `http://localhost:${port}`;
  const configuration = config(port, admin, upstream.address().port, callback);
  const isReady = () => answers(`${base}/.well-known/oauth-authorization-server`);
  const desk = await run(frontdesk, at, "consent", configuration, isReady);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const challenge = crypto.createHash("sha256").update("v".repeat(43)).digest("base64url");
    const query = new URLSearchParams({
      response_type: "code", client_id: "my-assistant", redirect_uri: `http://127.0.0.1:${callback}/cb`, state: "s",
      code_challenge: challenge, code_challenge_method: "S256", scope: "orders book",
    });
    const authorize = `${base}/agent/oauth/authorize?${query}`;
    const context = await browser.newContext({ viewport: { width: 1000, height: 900 } });
    context.setDefaultTimeout(15000);
    const page = await context.newPage();
    const complaints = [];
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
    await page.goto(authorize);
    await page.fill("[name=user]", "ada");
    await page.click("button");
    await page.waitForSelector("text=Ada Lovelace");
    assert.ok((await page.textContent("body")).includes("runs on your own computer"));
    const picture = (name) => page.screenshot({ path: path.join(at, `consent-${name}.png`), fullPage: true });
    await picture("light");
    await page.emulateMedia({ colorScheme: "dark" });
    await picture("dark");
    await page.setViewportSize({ width: 360, height: 740 });
    await picture("phone");
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, "it fits a phone");
    assert.equal(await page.evaluate(() => document.querySelectorAll("h1").length), 1);
    const checked = () => page.$$eval("input[type=checkbox]", (all) => all.map((box) => box.checked));
    // What an agent does not name is checked only if it reads.
    query.delete("scope");
    await page.goto(`${base}/agent/oauth/authorize?${query}`);
    assert.deepEqual(await checked(), [true, false]);
    await page.goto(authorize);
    assert.deepEqual(await checked(), [true, true]);
    // Each capability can be left out, by its label as well.
    await page.click("text=Book a room");
    assert.deepEqual(await checked(), [true, false]);
    await page.click("text=Allow >> nth=0");
    await page.waitForURL(`http://127.0.0.1:${callback}/cb**`);
    const back = new URL(page.url()).searchParams;
    assert.equal(back.get("iss"), base);
    assert.equal(back.get("state"), "s");
    const given = await fetch(`${base}/agent/oauth/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code", code: back.get("code"), client_id: "my-assistant",
        redirect_uri: `http://127.0.0.1:${callback}/cb`, code_verifier: "v".repeat(43),
      }),
    }).then((answer) => answer.json());
    assert.equal(given.scope, "orders");
    // The page of another site can neither frame nor press anything.
    await page.goto(`http://127.0.0.1:${callback}/`);
    await page.setContent(`<iframe src="${authorize.replaceAll("&", "&amp;")}"></iframe>`);
    await page.waitForTimeout(500);
    assert.ok(!(await Promise.all(page.frames().map((frame) => frame.content().catch(() => "")))).join("").includes("Ada"));
    complaints.length = 0;
    await page.goto(`${base}/agent/links`);
    await picture("links");
    assert.ok((await page.textContent("body")).includes("My Assistant"));
    await page.click("text=End this");
    await page.waitForSelector("text=No agent may act for you.");
    const refused = await fetch(`${base}/agent/orders`, {
      method: "POST", body: "{}", headers: { "Content-Type": "application/json", Authorization: `Bearer ${given.access_token}` },
    });
    assert.equal(refused.status, 401);
    assert.deepEqual(complaints, []);
    say("consent: signed in, allowed one of two, went back, ended it; not framed");
  } finally {
    await browser.close();
    await desk.close();
    client.close();
    upstream.close();
  }
}

main().catch((error) => { console.error(error); process.exit(1); });
