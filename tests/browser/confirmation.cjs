// A person confirms and declines calls on the confirmation page in a real browser: by keyboard, without scripts, in each
// language, in the dark, on a phone, from right to left; and no other site can frame it or send its form. axe-core reads it
// as a screen reader would. Usage: node confirmation.cjs FRONTDESK CHROMIUM DIRECTORY
"use strict";
const assert = require("node:assert/strict");
const path = require("node:path");
const axe = require("axe-core");
const { chromium } = require("playwright-core");
const { answers, freePort, listening, run } = require("./started.cjs");

const [, , frontdesk, executablePath, at] = process.argv;
const say = (text) => console.log(`browser: ${text}`);

// The wording of each language that a person chooses by, and the language itself.
const WORDS = { en: ["Confirm", "Decline"], de: ["Bestätigen", "Ablehnen"], fr: ["Confirmer", "Refuser"], es: ["Confirmar", "Rechazar"], ja: ["承認する", "拒否する"] };
// Summaries as an operator writes them: short, long with a word that does not break, and from right to left.
const SUMMARIES = {
  short: ["Book a room at the Hotel Miramar for two nights.", "Your card is charged 240 euro. You can cancel until Friday."],
  long: [`Order ${"Donaudampfschifffahrtsgesellschaftskapitänsmütze".repeat(2)} in the colour of the sea, size 58, with a golden anchor and the initials A. L. <b>`, "It is made for you and cannot be returned."],
  arabic: ["احجز غرفة في فندق ميرامار لليلتين من 3 إلى 5 مايو.", "سيتم خصم 240 يورو من بطاقتك."],
};

const config = (port, admin, upstream) => `
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
[rate_limits]
anonymous = "1000/minute"
${Object.entries(SUMMARIES).map(([id, [summary, consequence]]) => `
[[capabilities]]
id = "${id}"
type = "commit_action"
description = "Books it."
method = "POST"
endpoint = "/agent/${id}"
auth = "optional"
risk_level = "medium"
requires_user_confirmation = true
input_schema = { type = "object", properties = { number = { type = "integer" } } }
upstream = { method = "POST", path = "/api/bookings" }
[capabilities.confirmation]
by = "page"
summary = ${JSON.stringify(summary)}
consequence = ${JSON.stringify(consequence)}
`).join("")}`;

/** What axe finds wrong, for WCAG 2.2 AA and its best practices. */
async function violations(page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => window.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  }));
  assert.ok(found.passes.length > 10, "axe has read the page");
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`);
}

async function main() {
  const [port, admin] = [await freePort(), await freePort()];
  let bookings = 0;
  const upstream = await listening((request, response) => {
    bookings += request.url === "/api/bookings";
    response.writeHead(201, { "Content-Type": "application/json" });
    response.end("{\"booking\":\"b-1\"}");
  });
  const base = `http://localhost:${port}`;
  const configuration = config(port, admin, upstream.address().port);
  const desk = await run(frontdesk, at, "confirmation", configuration, () => answers(`${base}/openapi.json`));
  let calls = 0;
  const call = async (id, number, token) => {
    const headers = { "Content-Type": "application/json", "AICP-Agent": "Trip Planner", ...(token && { "AICP-Confirmation": token }) };
    const answer = await fetch(`${base}/agent/${id}`, { method: "POST", headers, body: JSON.stringify({ number }) });
    return { status: answer.status, body: await answer.json() };
  };
  /** A call that waits for a person, and the page's address. */
  const asked = async (id) => {
    const number = calls += 1;
    const { status, body } = await call(id, number);
    assert.equal(status, 428, JSON.stringify(body));
    const { url, token } = body.confirmation;
    return { url, repeat: () => call(id, number, token) };
  };
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const tab = async (options = {}) => {
    const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, locale: "en", ...options });
    context.setDefaultTimeout(15000);
    const page = await context.newPage();
    const complaints = [];
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
    page.on("request", (request) => request.url().startsWith(base) || complaints.push(`asked for ${request.url()}`));
    return { page, complaints, done: async () => { assert.deepEqual(complaints, []); await context.close(); } };
  };
  const focused = (page) => page.evaluate(() => document.activeElement.textContent);
  try {
    // By keyboard: two steps to the buttons, a focus that can be seen, and Enter.
    const { url, repeat } = await asked("short");
    const one = await tab();
    await one.page.goto(url);
    await one.page.keyboard.press("Tab");
    assert.equal(await focused(one.page), "Confirm");
    const outline = await one.page.evaluate(() => {
      const style = getComputedStyle(document.activeElement);
      return `${style.outlineStyle} ${parseFloat(style.outlineWidth)}`;
    });
    assert.match(outline, /^(solid|auto) [1-9]/, "the focus is seen");
    await one.page.screenshot({ path: path.join(at, "confirmation-focus.png") });
    await one.page.keyboard.press("Tab");
    assert.equal(await focused(one.page), "Decline");
    await one.page.keyboard.press("Shift+Tab");
    await one.page.keyboard.press("Enter");
    await one.page.waitForSelector("text=You confirmed this");
    assert.equal(await one.page.getAttribute("[role=status]", "role"), "status");
    assert.equal(await one.page.locator("button").count(), 0, "it is decided once");
    assert.deepEqual(await violations(one.page), []);
    await one.page.screenshot({ path: path.join(at, "confirmation-confirmed.png") });
    // Neither going back nor forward shows the buttons again.
    await one.page.goBack();
    await one.page.goForward();
    await one.page.waitForSelector("text=You confirmed this");
    assert.equal(bookings, 0);
    assert.equal((await repeat()).status, 201);
    assert.equal((await repeat()).status, 428);
    assert.equal(bookings, 1);
    await one.done();

    // Without scripts.
    const no = await asked("short");
    const plain = await tab({ javaScriptEnabled: false });
    await plain.page.goto(no.url);
    await plain.page.click("text=Decline");
    await plain.page.waitForSelector("text=You declined this");
    assert.equal((await no.repeat()).status, 403);
    await plain.done();

    // Light, dark, on a phone, from right to left; everything fits, and axe finds nothing.
    for (const id of Object.keys(SUMMARIES)) {
      const { url: shown } = await asked(id);
      for (const [name, options] of [["light", {}], ["dark", { colorScheme: "dark" }], ["phone", { viewport: { width: 320, height: 640 }, isMobile: true }], ["phone-dark", { viewport: { width: 360, height: 740 }, colorScheme: "dark" }]]) {
        const look = await tab(options);
        await look.page.goto(shown);
        assert.deepEqual(await violations(look.page), [], `${id} ${name}`);
        const { scrolls, width, small } = await look.page.evaluate(() => ({
          scrolls: document.documentElement.scrollWidth, width: innerWidth,
          small: [...document.querySelectorAll("button")].some((button) => button.getBoundingClientRect().height < 44),
        }));
        assert.ok(scrolls <= width, `${id} ${name}: ${scrolls} in ${width}`);
        assert.ok(!small, `${id} ${name}: buttons for fingers`);
        await look.page.screenshot({ path: path.join(at, `confirmation-${id}-${name}.png`), fullPage: true });
        await look.done();
      }
    }
    const { url: rightToLeft } = await asked("arabic");
    const right = await tab();
    await right.page.goto(rightToLeft);
    assert.equal(await right.page.evaluate(() => getComputedStyle(document.querySelector(".summary")).direction), "rtl");
    await right.done();

    // In each language that it has.
    const { url: spoken } = await asked("short");
    for (const [language, [confirm, decline]] of Object.entries(WORDS)) {
      const look = await tab({ locale: language });
      await look.page.goto(spoken);
      assert.deepEqual(await look.page.locator("button").allTextContents(), [confirm, decline]);
      assert.equal(await look.page.getAttribute("html", "lang"), language);
      assert.deepEqual(await violations(look.page), [], language);
      await look.page.screenshot({ path: path.join(at, `confirmation-${language}.png`) });
      await look.done();
    }

    // Another site can neither frame it nor send its form.
    const { url: target, repeat: waits } = await asked("short");
    const evil = await listening((_, response) => {
      response.writeHead(200, { "Content-Type": "text/html" });
      response.end(`<iframe src="${target}"></iframe><form method=post action="${target}"><button name=decision value=confirm>Win</button></form>`);
    });
    const lured = await tab();
    await lured.page.goto(`http://127.0.0.1:${evil.address().port}/`);
    await lured.page.waitForTimeout(500);
    const framed = await Promise.all(lured.page.frames().slice(1).map((frame) => frame.content().catch(() => "")));
    assert.ok(!framed.join("").includes("Miramar"), "not framed");
    const [answer] = await Promise.all([lured.page.waitForResponse((response) => response.request().method() === "POST"), lured.page.click("text=Win")]);
    assert.equal(answer.status(), 403);
    assert.equal((await waits()).body.error.code, "confirmation_pending");
    evil.close();
    assert.equal(bookings, 1);
    say("confirmation: by keyboard, without scripts, in five languages, light, dark, on phones, from right to left; not framed, not forged; axe finds nothing");
  } finally {
    await browser.close();
    await desk.close();
    upstream.close();
  }
}

main().catch((error) => { console.error(error); process.exit(1); });
