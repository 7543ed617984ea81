// The OAuth clients of both generations of the TypeScript SDK sign in over the login form of a site, call, refresh, and are
// ended by their person. Usage: oauth_typescript.mjs PREFIX FRONTDESK
// PREFIX is the directory whose node_modules has @modelcontextprotocol/sdk and @modelcontextprotocol/client.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { basics, freePort, isUnauthorized, kept, listening } from "./oauth_trial.mjs";

const [prefix, frontdesk] = process.argv.slice(2).map((name) => path.resolve(name));
const { resolve } = createRequire(path.resolve(prefix, "here.js"));
const load = (name) => import(pathToFileURL(resolve(name)));

// People sign in with a form and have a session cookie.
const sessions = new Map();
const site = http.createServer(async (request, response) => {
  const answer = (status, body, headers = {}) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
  const url = new URL(request.url, "http://site.test");
  const who = sessions.get(/sid=(\w+)/.exec(request.headers.cookie ?? "")?.[1]);
  if (request.method === "POST") {
    let body = "";
    for await (const part of request) body += part;
    const sid = randomBytes(16).toString("hex");
    sessions.set(sid, new URLSearchParams(body).get("user"));
    const headers = { Location: url.searchParams.get("next"), "Set-Cookie": `sid=${sid}; Path=/; HttpOnly` };
    return answer(303, null, headers);
  }
  if (url.pathname === "/login") return answer(200, "the form");
  if (!who) return answer(401, "who?");
  return answer(200, url.pathname === "/api/me" ? { id: who } : { orders: [`order-of-${who}`] });
});

const config = (at, admin, site) => `${basics(at, admin, site)}[auth.visitor]
check = "/api/me"
subject = "/id"
sign_in = "/login"
return_to = "next"
[auth.login]
cookies = ["sid"]
clients = "dynamic"
access_ttl = "2s"
[[capabilities]]
id = "orders"
type = "query"
description = "See your orders."
method = "POST"
endpoint = "/agent/orders"
auth = "required"
upstream = { method = "GET", path = "/api/orders", identity = "caller" }
`;

// A browser with a person before it, and what their agent keeps.
class Person {
  constructor(who, origin) {
    Object.assign(this, { who, origin, cookie: "", asked: 0 });
  }

  async open(url) {
    const get = (to) => fetch(new URL(to, this.origin), { redirect: "manual", headers: { cookie: this.cookie } });
    let page = await get(url);
    if (page.status === 303) {
      const body = new URLSearchParams({ user: this.who, password: "x" });
      const form = new URL(page.headers.get("location"), this.origin);
      const back = await fetch(form, { method: "POST", body, redirect: "manual" });
      this.cookie = back.headers.get("set-cookie").split(";")[0];
      page = await get(back.headers.get("location"));
    }
    return page.text();
  }

  async post(path, form) {
    const headers = { cookie: this.cookie, origin: this.origin };
    const body = new URLSearchParams(form);
    const sent = await fetch(this.origin + path, { method: "POST", body, headers, redirect: "manual" });
    assert.equal(sent.status, 303, await sent.text());
    return sent.headers.get("location");
  }

  // Allows what is asked; gives the address that the agent is answered at.
  async allow(url) {
    this.asked += 1;
    const page = await this.open(url);
    assert(page.includes("See your orders."), page);
    const ticket = /name="ticket" value="([^"]+)"/.exec(page)[1];
    return new URL(await this.post("/agent/oauth/consent", { ticket, decision: "allow", allow: "orders" }));
  }

  async endAll() {
    const page = await this.open(`${this.origin}/agent/links`);
    const token = /name="token" value="([^"]+)"/.exec(page)[1];
    for (const [, link] of page.matchAll(/name="link" value="([^"]+)"/g)) {
      await this.post("/agent/links", { token, link });
    }
  }

  // The SDK's provider.
  get provider() {
    return kept(this);
  }
}

async function orders(person, { Client }, { StreamableHTTPClientTransport }) {
  const url = new URL(`${person.origin}/mcp`);
  for (let tries = 0; tries < 2; tries += 1) {
    const client = new Client({ name: "oauth", version: "1" });
    const transport = new StreamableHTTPClientTransport(url, { authProvider: person.provider });
    try {
      await client.connect(transport);
      const result = await client.callTool({ name: "orders", arguments: { query: "mine" } });
      assert(!result.isError, JSON.stringify(result));
      return JSON.stringify(result.structuredContent);
    } catch (error) {
      if (tries > 0 || !isUnauthorized(error)) throw error;
      const back = await person.allow(person.wanted);
      assert.equal(back.searchParams.get("iss"), person.origin);
      await transport.finishAuth(back.searchParams.get("code"), back.searchParams.get("iss"));
    } finally {
      await client.close();
    }
  }
}

async function visit(name, client, transport, origin) {
  const people = ["ada", "bob"].map((who) => new Person(who, origin));
  for (const person of people) {
    assert((await orders(person, client, transport)).includes(`order-of-${person.who}`));
    assert(person.asked === 1 && person.tokens.refresh_token);
  }
  await pause(2500);
  for (const person of people) {
    const before = person.tokens.access_token;
    assert((await orders(person, client, transport)).includes(`order-of-${person.who}`));
    assert(person.asked === 1 && person.tokens.access_token !== before, "refreshed without the person");
  }
  const [ada] = people;
  await ada.endAll();
  // Its tokens are over, so it asks its person anew.
  assert((await orders(ada, client, transport)).includes("order-of-ada"));
  assert.equal(ada.asked, 2);
  console.log(`${name}: signed in over the login form, called, refreshed, ended, asked anew`);
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "frontdesk-oauth-"));
const [siteAt, at, admin] = [await listening(site), await freePort(), await freePort()];
fs.writeFileSync(path.join(folder, "frontdesk.toml"), config(at, admin, siteAt));
const log = fs.openSync(path.join(folder, "log"), "w");
const desk = spawn(frontdesk, ["run", "--config", "frontdesk.toml"], { cwd: folder, stdio: ["ignore", log, log] });
try {
  for (let tries = 0; tries < 100; tries += 1) {
    const is_up = await fetch(`http://127.0.0.1:${admin}/readyz`).then((answer) => answer.ok, () => false);
    if (is_up) break;
    await pause(100);
  }
  const origin = `http://127.0.0.1:${at}`;
  const sdk = "@modelcontextprotocol/sdk/client";
  await visit("oauth, typescript sdk 1", await load(`${sdk}/index.js`), await load(`${sdk}/streamableHttp.js`), origin);
  const client = await load("@modelcontextprotocol/client");
  await visit("oauth, typescript sdk 2", client, client, origin);
} catch (error) {
  console.error(fs.readFileSync(path.join(folder, "log"), "utf8").slice(-3000));
  throw error;
} finally {
  desk.kill();
  site.closeAllConnections();
  site.close();
}
