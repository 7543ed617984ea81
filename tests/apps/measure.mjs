// Visits an application in headless Chromium, once for each leg of a job, and writes down what a person at the browser
// would notice: console, page errors, pictures, bytes on the wire, WebSockets. Usage: node measure.mjs JOB.json
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { visitsOf } from "./visits.mjs";

const job = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(path.join(job.packages, "package.json"))("playwright-core");

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--font-render-hinting=none",
];
const QUIET_MS = 500;
const STALLED_MS = 3000;
const PATIENCE_MS = 25000;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** What may differ between two runs of the same thing: the address, and identifiers made for one run. */
function withoutRun(text, origin) {
  return text
    .replaceAll(origin, "SITE").replaceAll(origin.replace(/^http/, "ws"), "SITE").replaceAll(new URL(origin).host, "SITE")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replace(/\d{10,13}/g, "TIME");
}

/** One tab, and everything that it does on the network or says. */
class Tab {
  static async open(context, origin) {
    const tab = new Tab();
    tab.origin = origin;
    tab.page = await context.newPage();
    tab.pending = new Set();
    tab.requests = new Map();
    tab.forget();
    const note = (text) => tab.notes.push(withoutRun(text, origin));
    tab.page.on("console", (message) => note(`${message.type()}: ${message.text()}`));
    tab.page.on("pageerror", (error) => note(`page error: ${error}`));
    tab.page.on("crash", () => note("the tab crashed"));
    tab.page.on("dialog", (dialog) => dialog.accept().catch(() => {}));
    const cdp = await context.newCDPSession(tab.page);
    await cdp.send("Network.enable");
    await cdp.send("Audits.enable");
    cdp.on("Audits.issueAdded", ({ issue }) => {
      if (!tab.notes.includes(`issue: ${issue.code}`)) tab.notes.push(`issue: ${issue.code}`);
    });
    tab.listen(cdp);
    return tab;
  }

  forget() {
    Object.assign(this, { notes: [], answers: [], bytes: 0, sockets: [], lastMove: Date.now() });
  }

  listen(cdp) {
    const moved = () => { this.lastMove = Date.now(); };
    const count = (id, length) => {
      const request = this.requests.get(id);
      moved();
      this.bytes += length;
      if (request) this.answers.push({ ...request, bytes: length });
    };
    const head = (id, response) => {
      const { status, headers } = response;
      Object.assign(this.requests.get(id) ?? {}, { status, headers });
    };
    cdp.on("Network.requestWillBeSent", (event) => {
      moved();
      if (event.redirectResponse) {
        head(event.requestId, event.redirectResponse);
        count(event.requestId, event.redirectResponse.encodedDataLength);
      }
      const url = withoutRun(event.request.url, this.origin);
      this.requests.set(event.requestId, { method: event.request.method, url });
      if (event.type !== "EventSource" && !url.startsWith("data:")) this.pending.add(event.requestId);
    });
    cdp.on("Network.responseReceived", ({ requestId, response }) => head(requestId, response));
    cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      this.pending.delete(requestId);
      count(requestId, encodedDataLength);
    });
    // Of what a script stops reading, as much as has come.
    const read = new Map();
    cdp.on("Network.dataReceived", ({ requestId, encodedDataLength }) => {
      moved();
      read.set(requestId, (read.get(requestId) ?? 0) + encodedDataLength);
    });
    cdp.on("Network.loadingFailed", ({ requestId, errorText, canceled }) => {
      count(requestId, read.get(requestId) ?? 0);
      moved();
      this.pending.delete(requestId);
      if (!canceled) this.notes.push(`failed: ${this.requests.get(requestId)?.url} ${errorText}`);
    });
    const sockets = new Map();
    cdp.on("Network.webSocketCreated", ({ requestId, url }) => {
      sockets.set(requestId, withoutRun(url, this.origin).replace(/\?.*/, ""));
    });
    cdp.on("Network.webSocketHandshakeResponseReceived", ({ requestId, response }) => {
      this.sockets.push(`${sockets.get(requestId)} ${response.status}`);
    });
    cdp.on("Network.webSocketFrameError", ({ requestId, errorMessage }) => {
      this.notes.push(`WebSocket ${sockets.get(requestId)}: ${errorMessage}`);
    });
  }

  /** Until nothing is asked or answered for a while. Of a worker's script this tab hears the start and not the end. */
  async settle() {
    const end = Date.now() + PATIENCE_MS;
    const quiet = () => Date.now() - this.lastMove > (this.pending.size > 0 ? STALLED_MS : QUIET_MS);
    while (Date.now() < end && !quiet()) await sleep(50);
    for (const id of this.pending) {
      const { method, url } = this.requests.get(id);
      this.notes.push(`unfinished: ${method} ${url}`);
    }
    this.pending.clear();
    await this.page.evaluate(() => document.fonts.ready.then(() => {}));
  }

  async go(where) {
    const answer = await this.page.goto(this.origin + where, { waitUntil: "load" });
    return answer?.status();
  }
}

async function leg(name, origin) {
  const browser = await chromium.launch({ executablePath: job.chromium, args: FLAGS });
  const seen = [];
  try {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 }, locale: "en-US", timezoneId: "UTC", reducedMotion: "reduce",
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const tab = await Tab.open(context, origin);
    for (const visit of visitsOf(job.app)) {
      tab.forget();
      const found = { visit: visit.name };
      try {
        found.value = (await visit.run(tab)) ?? null;
        await tab.settle();
        found.where = withoutRun(tab.page.url(), origin);
        if (visit.picture !== false) {
          found.picture = path.join(job.pictures, `${visit.name}-${name}.png`);
          const mask = (visit.mask ?? []).map((selector) => tab.page.locator(selector));
          await tab.page.screenshot({
            path: found.picture, fullPage: visit.fullPage !== false, animations: "disabled", mask,
          });
        }
      } catch (error) {
        found.value = `failed: ${withoutRun(String(error.message), origin).split("\n")[0]}`;
        await tab.page.screenshot({ path: path.join(job.pictures, `${visit.name}-${name}-failed.png`) }).catch(() => {});
      }
      const { bytes, notes, sockets, answers } = tab;
      seen.push({ ...found, bytes, notes, sockets: [...new Set(sockets)].sort(), answers });
    }
  } finally {
    await browser.close();
  }
  return seen;
}

const legs = {};
for (const { name, url } of job.legs) legs[name] = await leg(name, url);
fs.writeFileSync(job.result, JSON.stringify(legs));
