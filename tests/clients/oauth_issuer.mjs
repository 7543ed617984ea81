// A real authorization server (oidc-provider) that is the site's own: the OAuth client of the TypeScript SDK is sent there by
// a call, signs in, calls, refreshes an expired token, asks for more where it has to (step-up), and goes on after the
// server has changed its keys. Usage: oauth_issuer.mjs PREFIX FRONTDESK
// PREFIX is the directory whose node_modules has oidc-provider and @modelcontextprotocol/sdk.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { CALLBACK, basics, freePort, isUnauthorized, kept, listening } from "./oauth_trial.mjs";

const [prefix, frontdesk] = process.argv.slice(2).map((name) => path.resolve(name));
const { resolve } = createRequire(path.resolve(prefix, "here.js"));
const load = (name) => import(pathToFileURL(resolve(name)));

// A certificate that this process, started again, and Frontdesk trust.
if (!process.env.ISSUER_CERTIFICATE) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "frontdesk-issuer-"));
  const [cert, key] = ["cert.pem", "key.pem"].map((name) => path.join(folder, name));
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
    "-subj", "/CN=issuer", "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=IP:127.0.0.1",
    "-keyout", key, "-out", cert], { stdio: "ignore" });
  const env = { ...process.env, ISSUER_CERTIFICATE: folder, NODE_EXTRA_CA_CERTS: cert };
  process.exit(spawnSync(process.execPath, process.argv.slice(1), { env, stdio: "inherit" }).status ?? 1);
}
const folder = process.env.ISSUER_CERTIFICATE;
const [cert, key] = ["cert.pem", "key.pem"].map((name) => path.join(folder, name));

// The site believes who Frontdesk says is calling.
const site = http.createServer((request, response) => {
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ [new URL(request.url, "http://s").pathname.slice(5)]: `of-${request.headers["x-frontdesk-caller"]}` }));
});

const signingKey = (kid) => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  assert(createPublicKey(privateKey));
  return { ...privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "RS256" };
};

/** The authorization server, with these keys. What it has issued stays, also with other keys. */
async function server(issuer, keys) {
  const { Provider } = await load("oidc-provider");
  const provider = new Provider(issuer, {
    jwks: { keys },
    scopes: ["openid", "offline_access", "orders:read", "orders:buy"],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    issueRefreshToken: () => true,
    cookies: { keys: ["for tests only"] },
    features: {
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_, __, one) => one ?? [],
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: "orders:read orders:buy", audience: resource, accessTokenFormat: "jwt", accessTokenTTL: 2, jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
  });
  return https.createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, provider.callback());
}

const config = (at, admin, site, issuer) => `${basics(at, admin, site)}[auth]
authorization_servers = ["${issuer}"]
${[["orders", "orders:read"], ["bought", "orders:buy"]].map(([id, scope]) => `
[[capabilities]]
id = "${id}"
type = "query"
description = "See ${id}."
method = "POST"
endpoint = "/agent/${id}"
auth = "required"
risk_level = "low"
required_scopes = ["${scope}"]
upstream = { method = "GET", path = "/api/${id}" }
`).join("")}`;

/** A browser with a person before it: signs in at the server, and allows what is asked there. */
class Person {
  constructor(who, issuer) {
    Object.assign(this, { who, issuer, cookies: new Map(), asked: 0 });
  }

  async send(url, form) {
    const headers = { cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
    const more = form ? { method: "POST", body: new URLSearchParams(form) } : {};
    const answer = await fetch(new URL(url, this.issuer), { redirect: "manual", headers, ...more });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value) this.cookies.set(name, value); else this.cookies.delete(name);
    }
    return answer;
  }

  /** Goes on until the agent is answered. */
  async allow(url) {
    this.asked += 1;
    let next = url;
    for (let steps = 0; steps < 12; steps += 1) {
      const answer = await this.send(next);
      const to = answer.headers.get("location");
      if (to?.startsWith(CALLBACK)) return new URL(to);
      if (to) { next = to; continue; }
      const page = await answer.text();
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
      assert(prompt, page);
      const action = /action="([^"]+)"/.exec(page)[1];
      const sent = await this.send(action, { prompt, ...(prompt === "login" && { login: this.who, password: "x" }) });
      next = sent.headers.get("location");
      assert(next, await sent.text());
    }
    throw new Error("the server goes round in circles");
  }

  get provider() {
    return kept(this, { grant_types: ["authorization_code", "refresh_token"] });
  }
}

async function call(person, origin, name, { Client }, { StreamableHTTPClientTransport }) {
  for (let tries = 0; tries < 2; tries += 1) {
    const client = new Client({ name: "oauth", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { authProvider: person.provider });
    try {
      await client.connect(transport);
      const { tools } = await client.listTools();
      assert(["orders", "bought"].every((one) => tools.some((tool) => tool.name === one)), "every tool is listed for everybody");
      const result = await client.callTool({ name, arguments: { query: "mine" } });
      assert(!result.isError, JSON.stringify(result));
      return JSON.stringify(result.structuredContent);
    } catch (error) {
      if (tries > 0 || !isUnauthorized(error)) throw error;
      const back = await person.allow(person.wanted);
      assert(back.searchParams.has("code"), `${person.wanted} led to ${back}`);
      await transport.finishAuth(back.searchParams.get("code"));
    } finally {
      await client.close();
    }
  }
}

const [siteAt, at, admin, issuerAt] = [await listening(site), await freePort(), await freePort(), await freePort()];
const issuer = `https://127.0.0.1:${issuerAt}`;
const old = signingKey("old");
let idp = await server(issuer, [old]);
await listening(idp, issuerAt);
fs.writeFileSync(path.join(folder, "frontdesk.toml"), config(at, admin, siteAt, issuer));
const log = fs.openSync(path.join(folder, "log"), "w");
const env = { ...process.env, SSL_CERT_FILE: cert };
const desk = spawn(frontdesk, ["run", "--config", "frontdesk.toml"], { cwd: folder, env, stdio: ["ignore", log, log] });
try {
  const origin = `http://127.0.0.1:${at}`;
  for (let tries = 0; tries < 100; tries += 1) {
    if (/keys were fetched/.test(fs.readFileSync(path.join(folder, "log"), "utf8"))) break;
    await pause(100);
  }
  const sdk = "@modelcontextprotocol/sdk/client";
  const of = [await load(`${sdk}/index.js`), await load(`${sdk}/streamableHttp.js`)];
  const ada = new Person("ada", issuer);
  assert.match(await call(ada, origin, "orders", ...of), /of-ada/);
  assert.equal(ada.asked, 1);
  assert.deepEqual(ada.tokens.scope.split(" "), ["orders:read"], "what the call needs, and no more");
  const before = ada.tokens.access_token;
  // Thirty seconds are for clocks that differ.
  await pause(33_000);
  assert.match(await call(ada, origin, "orders", ...of), /of-ada/);
  assert(ada.asked === 1 && ada.tokens.access_token !== before, "refreshed without the person");
  // Version 1 of the SDK registers for what its first call needs, and refreshes where it has to ask for more. An agent that
  // forgets both gets more.
  delete ada.tokens.refresh_token;
  ada.info = undefined;
  assert.match(await call(ada, origin, "bought", ...of), /of-ada/);
  assert.equal(ada.asked, 2, "asked for more");
  assert.match(ada.tokens.scope, /orders:buy/);
  // The server signs with another key from now on.
  idp.closeAllConnections();
  await new Promise((done) => idp.close(done));
  idp = await server(issuer, [signingKey("new"), old]);
  await listening(idp, issuerAt);
  const bob = new Person("bob", issuer);
  let answered;
  for (let tries = 0; tries < 30 && !answered; tries += 1) {
    answered = await call(bob, origin, "orders", ...of).catch(() => pause(1000));
  }
  assert.match(answered, /of-bob/);
  console.log("oauth, oidc-provider: sent there by a call, signed in, called, refreshed, stepped up, went on with new keys");
} catch (error) {
  console.error(fs.readFileSync(path.join(folder, "log"), "utf8").slice(-3000));
  throw error;
} finally {
  desk.kill();
  for (const one of [site, idp]) {
    one.closeAllConnections();
    one.close();
  }
}
