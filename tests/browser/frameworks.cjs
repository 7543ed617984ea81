// Pages that frameworks take over in the browser stay what the server sent, and the notice stays in them, unseen.
// Usage: node frameworks.cjs FRONTDESK CHROMIUM DIRECTORY
"use strict";
const assert = require("node:assert/strict");
const path = require("node:path");
const { chromium } = require("playwright-core");
const { answers, freePort, run } = require("./started.cjs");
const { site, PAGES } = require("./frameworks/site.cjs");

const [, , frontdesk, executablePath, at] = process.argv;
const say = (text) => console.log(`browser: ${text}`);

/** Frontdesk before the site, with the notice there. */
async function front(site, position) {
  const [port, admin] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const configuration = `
[listen]
http = "127.0.0.1:${port}"
admin = "127.0.0.1:${admin}"
[upstream]
url = "http://127.0.0.1:${site.address().port}"
[discovery]
notice_position = "${position}"
[log]
access = false
[content]
start = []
llms_txt = "off"
`;
  const { close } = await run(frontdesk, at, `frameworks-${position}`, configuration, () => answers(`${url}/favicon.ico`));
  return { url, close };
}

/** Opens a page, and tells what came of it. */
async function visit(browser, url) {
  const context = await browser.newContext();
  context.setDefaultTimeout(15000);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  // The application's element as the server sent it.
  await page.addInitScript(() => {
    const look = () => { window.sent ??= document.getElementById("app"); };
    new MutationObserver(look).observe(document, { childList: true, subtree: true });
  });
  await page.goto(url);
  return { context, page, complaints };
}

/** The page is taken over: what stands in it now. */
async function takenOver(browser, url) {
  const { context, page, complaints } = await visit(browser, url);
  await page.waitForFunction(() => window.hydrated);
  if (url.includes("/stream")) await page.waitForSelector("#late");
  await page.click("#count");
  await page.waitForFunction(() => document.getElementById("count").textContent === "1");
  const seen = await page.evaluate(() => ({
    complaints: window.complaints,
    kept: window.sent === document.getElementById("app"),
    notices: document.querySelectorAll("[aria-label='AI Agent Notice']").length,
    ofBody: document.querySelectorAll("body > .ahp-notice").length,
    shown: [...document.querySelectorAll(".ahp-notice, .ahp-notice *")].some((element) => element.checkVisibility()),
    links: document.querySelectorAll("link[rel=ahp-manifest], link[rel=agent-interface]").length,
  }));
  await context.close();
  return { ...seen, complaints: [...complaints, ...seen.complaints] };
}

async function atTheEnd(browser, direct, front) {
  const whole = { complaints: [], kept: true, shown: false };
  for (const where of Object.keys(PAGES)) {
    assert.deepEqual(await takenOver(browser, direct + where), { ...whole, notices: 0, ofBody: 0, links: 0 }, `${where}, directly`);
    const seen = await takenOver(browser, front + where);
    assert.deepEqual(seen, { ...whole, notices: 1, ofBody: 1, links: 2 }, where);
  }
  say(`${Object.keys(PAGES).length} pages of React 18 and 19, Vue and Svelte are taken over as they were sent, with the notice`);
}

/** That the tests see what they are to see: there React throws the server's page away. */
async function atTheStart(browser, front) {
  for (const where of ["/react18/document", "/react18/stream", "/react19/document", "/react19/stream"]) {
    const { complaints, kept } = await takenOver(browser, front + where);
    assert.ok(complaints.length > 0 && !kept, `${where}: ${complaints}`);
  }
  say("with the notice at the start React 18 and 19 throw the page away");
}

/** Whatever a site's styles say of elements, people see nothing of the notice. */
async function unseen(browser, front) {
  for (const where of ["/styles", "/harsh"]) {
    const { context, page, complaints } = await visit(browser, front + where);
    const { text, words, width } = await page.evaluate(() => ({
      text: document.body.innerText.trim(),
      words: document.querySelector(".ahp-notice").textContent,
      width: document.querySelector("main").getBoundingClientRect().width,
    }));
    assert.equal(text, "Tea.", where);
    assert.ok(words.includes("Agent Handshake Protocol"), "there for who reads the page's markup");
    if (where === "/styles") assert.equal(width, page.viewportSize().width, "and it takes no room");
    assert.deepEqual(complaints, [], where);
    await context.close();
  }
  say("the notice is seen under no style sheet, and breaks no Content-Security-Policy");
}

async function main() {
  const server = await site(at);
  const fronts = [];
  const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
  const browser = await chromium.launch({ executablePath, args: [...sandbox, "--disable-dev-shm-usage"] });
  try {
    for (const position of ["end", "start"]) fronts.push(await front(server, position));
    await atTheEnd(browser, `http://127.0.0.1:${server.address().port}`, fronts[0].url);
    await atTheStart(browser, fronts[1].url);
    await unseen(browser, fronts[0].url);
  } finally {
    await browser.close();
    await Promise.all(fronts.map((front) => front.close()));
    server.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
