// Drives the operator's page. Usage: node page.cjs FRONTDESK CHROMIUM DIRECTORY
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");
const { sleep } = require("./started.cjs");
const { open, NAME, TOKEN } = require("./world.cjs");

const [, , frontdesk, executablePath, at] = process.argv;
const say = (text) => console.log(`browser: ${text}`);

/** A tab that remembers whatever a browser complains about, and whatever is asked of anybody else. */
async function tab(browser, world, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(15000);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => { complaints.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (!request.url().startsWith(world.admin)) complaints.push(`asked for ${request.url()}`);
  });
  const seen = async () => {
    if (options.javaScriptEnabled !== false) assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.deepEqual(complaints, []);
  };
  return { context, page, seen };
}

/** What a reader who does not see it needs. */
async function assertReadable(page) {
  const wrong = await page.evaluate(() => {
    const wrong = [];
    const all = (selector) => [...document.querySelectorAll(selector)];
    if (all("h1").length !== 1) wrong.push("one h1");
    if (document.documentElement.lang === "") wrong.push("a language");
    all("table").filter((t) => !t.caption || !t.querySelector("th[scope], td.quiet")).forEach((t) => wrong.push(t.outerHTML));
    all("section").filter((s) => s.children.length > 0 && !s.querySelector("h2")).forEach((s) => wrong.push(`${s.id}: no heading`));
    all("input:not([type=hidden]), textarea").filter((i) => i.labels.length === 0).forEach((i) => wrong.push(i.outerHTML));
    all("[style], script:not([src]), style").forEach((e) => wrong.push(e.outerHTML));
    const ids = all("[id]").map((e) => e.id);
    ids.filter((id, n) => ids.indexOf(id) !== n).forEach((id) => wrong.push(`twice: ${id}`));
    return wrong;
  });
  assert.deepEqual(wrong, []);
}

async function assertFits(page, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `${wide} pixels in ${width}`);
}

async function picture(page, name) {
  await page.screenshot({ path: path.join(at, `${name}.png`), fullPage: true });
}

async function logIn(page) {
  await page.fill("#token", TOKEN);
  await page.click("text=Log in");
  await page.waitForURL(/\/page\/[0-9a-f]{32}\/$/);
}

async function busy(world) {
  for (let n = 0; n < 12; n += 1) {
    await Promise.all([world.page(), world.page(), world.page(), world.search(), world.search({ "AICP-Agent": NAME })]);
    await sleep(250);
  }
  await world.call("/agent/stock/check", {}, { "AICP-Agent": NAME });
  await world.call("/agent/orders/place", { item: "tea" });
  await world.call("/agent/orders/place", { item: 7 }, { Authorization: "Bearer nobodys" });
  for (let n = 0; n < 30; n += 1) await world.search({ "AICP-Agent": NAME });
}

async function withAScript(browser, world) {
  const { context, page, seen } = await tab(browser, world);
  await page.goto(world.admin);
  await assertReadable(page);
  assert.ok(await page.isVisible("text=Log in"));
  assert.equal(await page.locator(".ticket form").count(), 0, "nobody has logged in");
  await page.click("button:text('Log in')");
  await logIn(page);
  await seen();
  say("logs in");

  const [question] = [await world.ask("Do you deliver to <script>alert(1)</script> Madrid?")];
  const ticket = page.locator(".ticket", { hasText: "Madrid" });
  await ticket.waitFor();
  assert.equal((await world.order(12)).status, 403);
  const permission = page.locator(".ticket", { hasText: "orders.place" });
  await permission.waitFor();
  assert.ok(!(await permission.innerText()).includes("Answer\n"), "leave is given or not");
  await assertReadable(page);
  say("sees a question that came while it was looking");

  await ticket.locator("textarea[name=said]").fill("Yes, within");
  await world.ask("And another, while somebody writes");
  await page.locator(".ticket", { hasText: "another" }).waitFor();
  await page.waitForResponse((response) => response.url().endsWith("/live"));
  assert.equal(await ticket.locator("textarea[name=said]").inputValue(), "Yes, within", "what is written stays");
  await ticket.locator("textarea[name=said]").fill("Yes, within two days.");
  await picture(page, "desk");
  await ticket.locator("button:text('Answer')").click();
  await page.locator("#more", { hasText: "Madrid" }).waitFor();
  assert.equal((await world.poll(question)).response.answer, "Yes, within two days.");
  await permission.locator("button:text('Approve')").click();
  await page.locator("#more", { hasText: "approved" }).waitFor();
  assert.equal((await world.order(12)).status, 201, "what was allowed is done");
  assert.equal((await world.order(12)).status, 403, "once");
  await seen();
  say("answers one question, allows one call");

  await busy(world);
  await page.locator("#refused", { hasText: "rate_limited" }).waitFor();
  const refused = await page.locator("#refused").innerText();
  for (const word of [NAME, "POST stock.check", "harness_escalated", "upstream_error", "so it says", "partner by key"]) {
    assert.ok(refused.includes(word), `${word} in ${refused}`);
  }
  const traffic = await page.locator("#traffic").innerText();
  assert.match(traffic, /people\s+\d/);
  assert.ok((await page.locator("#traffic rect.people").count()) > 0, "bars");
  assert.ok((await page.locator("#calls rect.done").count()) > 0, "outcomes");
  assert.match(await page.locator("#limits").innerText(), /127\.0\.0\.1, says to be.+\s+anonymous\s+40 of 40/);
  await assertFits(page, 1280);
  await picture(page, "light");
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, "dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 400, height: 800 });
  await assertFits(page, 400);
  await picture(page, "narrow");
  await page.setViewportSize({ width: 1280, height: 900 });
  await seen();
  say("sees traffic, refusals, calls, limits; fits into 400 pixels");

  const good = fs.readFileSync(world.file, "utf8");
  fs.writeFileSync(world.file, good.replace("40/minute", "60/minute").replace("[log]", "[logg]"));
  await page.locator("#config .diff", { hasText: "60/minute" }).waitFor();
  assert.ok(await page.isVisible("#attention >> text=configuration on disk"));
  assert.ok((await page.locator("#config").innerText()).includes("logg"), "its mistakes");
  await picture(page, "config");
  fs.writeFileSync(world.file, good);
  await page.locator("#config", { hasText: "The file says what runs" }).waitFor();
  say("sees what is wrong with the file, and how it differs");

  const base = page.url();
  const cookies = await context.cookies(base);
  assert.deepEqual(cookies.map((c) => [c.httpOnly, c.sameSite, c.path]), [[true, "Strict", new URL(base).pathname]]);
  assert.deepEqual(await context.cookies(world.desk), [], "the site beside us is sent none");
  await page.click("text=Log out");
  await page.waitForURL(`${world.admin}/`);
  const cookie = cookies.map((c) => `${c.name}=${c.value}`).join("; ");
  assert.equal((await fetch(base, { headers: { Cookie: cookie } })).status, 401, "logged out is logged out");
  await seen();
  await context.close();
}

async function withoutAScript(browser, world) {
  const { context, page, seen } = await tab(browser, world, { javaScriptEnabled: false });
  const question = await world.ask("Is there a discount?");
  await page.goto(world.admin);
  assert.ok((await page.locator("#desk").innerText()).includes("Is there a discount?"));
  assert.ok((await page.locator("#traffic rect").count()) > 0);
  await logIn(page);
  const ticket = page.locator(".ticket", { hasText: "discount" });
  await ticket.locator("textarea[name=said]").fill("We do not talk about prices.");
  await ticket.locator("button:text('Reject')").click();
  await page.locator("#more", { hasText: "rejected" }).waitFor();
  assert.ok(JSON.stringify(await world.poll(question)).includes("We do not talk about prices."));
  await picture(page, "without-a-script");
  await seen();
  await context.close();
  say("reads, logs in and rejects without a script");
}

async function main() {
  const world = await open(frontdesk, at);
  const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
  const browser = await chromium.launch({ executablePath, args: [...sandbox, "--disable-dev-shm-usage"] });
  try {
    await withAScript(browser, world);
    await withoutAScript(browser, world);
  } finally {
    await browser.close();
    await world.close();
  }
  say(`pictures are in ${path.relative(process.cwd(), at)}`);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
