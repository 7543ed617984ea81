// Fills in and sends the forms of forms.py in a headless Chromium, as a person would. Usage: node forms_browser.cjs
// CHROMIUM SITE CASES.json, with [{ name, query, select, submit, inputs }]
"use strict";
const fs = require("node:fs");
const { chromium } = require("playwright-core");

const [, , executablePath, site, file] = process.argv;
const cases = JSON.parse(fs.readFileSync(file, "utf8"));

/** Runs in the page: puts the inputs in, and clicks the button. What a control cannot take is an error. */
function fill({ select, submit, inputs, action }) {
  const forms = [...document.forms];
  const form = select ? document.querySelector(select) : forms.find((one) => new URL(one.action).pathname === action) || forms[0];
  const label = (control) => [...(control.labels || [])].map((one) => one.textContent.trim()).join(" ");
  for (const [name, value] of Object.entries(inputs)) {
    const all = [...form.elements].filter((one) => one.name === name || one.name === `${name}[]`);
    if (!all.length) throw new Error(`no control ${name}`);
    const wanted = Array.isArray(value) ? [...value] : [value];
    for (const control of all) {
      if (control.type === "file" || control.type === "hidden") continue;
      if (control.type === "checkbox") control.checked = typeof value === "boolean" ? value : wanted.includes(control.value);
      else if (control.type === "radio") control.checked = wanted.includes(control.value) || wanted.includes(label(control));
      else if (control.options && control.tagName === "SELECT") {
        for (const option of control.options) option.selected = wanted.includes(option.value) || wanted.includes(option.label);
      } else control.value = wanted.shift();
    }
  }
  const buttons = [...document.querySelectorAll("button, input")].filter((one) => one.form === form && ["submit", "image"].includes(one.type));
  const button = submit ? buttons.find((one) => one.name === submit) : buttons.find((one) => !one.matches(":disabled"));
  if (button) button.click();
  else form.submit();
}

(async () => {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--no-first-run"] });
  const page = await (await browser.newContext({ locale: "en-US" })).newPage();
  const found = {};
  for (const one of cases) {
    await page.goto(`${site}/page/${one.name}${one.query}`);
    const inputs = {};
    for (const [name, value] of Object.entries(one.inputs)) {
      if (!value.data) inputs[name] = value;
      else await page.setInputFiles(`[name="${name}"]`, { name: value.name, mimeType: value.media_type, buffer: Buffer.from(value.data, "base64") });
    }
    await Promise.all([page.waitForURL((url) => !url.href.endsWith(`/page/${one.name}${one.query}`) || one.name.startsWith("no_action"), { waitUntil: "load" }), page.waitForResponse((response) => response.request().isNavigationRequest()), page.evaluate(fill, { ...one, inputs })]);
    await page.waitForSelector(".done");
    found[one.name] = await (await fetch(`${site}/record`)).json();
  }
  await browser.close();
  console.log(JSON.stringify(found));
})().catch((error) => { console.error(error); process.exit(1); });
