// A documentation site, a process manager, and applications that React builds.
import { ask, streams, text } from "./steps.mjs";

export const mkdocs = [
  { name: "home", run: (tab) => tab.go("/") },
  { name: "long", run: (tab) => tab.go("/reference/") },
  { name: "reload", run: async (tab) => (await tab.page.reload()).status() },
  // nginx sends the browser on to the address with a slash.
  { name: "directory", run: (tab) => tab.go("/guide") },
  {
    name: "search",
    async run({ page }) {
      await page.click(".md-search__input");
      await page.keyboard.type("watering");
      await page.waitForSelector(".md-search-result__item");
      return text(page, ".md-search-result__meta");
    },
  },
  {
    name: "range", picture: false,
    run: ({ page }) => ask(page, "/harvest.csv", { headers: { Range: "bytes=100-149" } }),
  },
  { name: "download", picture: false, run: async ({ page }) => (await ask(page, "/harvest.csv")).length },
  { name: "missing", run: (tab) => tab.go("/nothing/here/") },
];

const clock = ["td:nth-child(2)"];
export const supervisor = [
  { name: "status", mask: clock, run: async (tab) => [await tab.go("/"), await tab.page.locator("tbody tr").count()] },
  { name: "log", run: (tab) => tab.go("/tail.html?processname=mailer") },
  {
    // Answers for as long as anybody listens.
    name: "tail", picture: false,
    run: ({ page }) => page.evaluate(async () => {
      const stop = new AbortController();
      const answer = await fetch("/logtail/mailer", { signal: stop.signal });
      const { value } = await answer.body.getReader().read();
      stop.abort();
      return `${answer.status} ${new TextDecoder().decode(value).includes("mailer")}`;
    }),
  },
  {
    name: "restart", mask: clock,
    async run(tab) {
      await tab.go("/");
      await tab.page.click("tr:has-text('payments') >> text=Restart");
      await tab.page.waitForURL(/message=/);
      return new URL(tab.page.url()).search;
    },
  },
];

export const next = [
  { name: "home", run: (tab) => tab.go("/") },
  {
    name: "counter",
    async run({ page }) {
      await page.click("text=Cups");
      return text(page, "button");
    },
  },
  {
    name: "link",
    async run({ page }) {
      await page.click("nav >> text=Stock");
      await page.waitForSelector("li");
      return text(page, "ul");
    },
  },
  { name: "stream", run: (tab) => tab.go("/stock") },
  { name: "streaming", picture: false, run: ({ page }) => streams(page, "/stock") },
  {
    name: "action",
    async run(tab) {
      await tab.go("/order");
      await tab.settle();
      await tab.page.fill("input[name=tea]", "Sencha");
      await tab.page.click("button");
      await tab.page.waitForSelector("h1:has-text('Thanks')");
      return text(tab.page, "h1");
    },
  },
  { name: "route", picture: false, run: ({ page }) => ask(page, "/api/teas") },
  { name: "missing", run: (tab) => tab.go("/nothing") },
];

export const reactRouter = [
  ...next.slice(0, 5),
  {
    name: "fetcher",
    async run(tab) {
      await tab.go("/order");
      await tab.settle();
      await tab.page.click("text=Ask");
      await tab.page.waitForSelector("output:has-text('yes')");
      return text(tab.page, "output");
    },
  },
  {
    name: "action",
    async run({ page }) {
      await page.click("button >> text=Order");
      await page.waitForSelector("h1:has-text('Assam')");
      return text(page, "h1");
    },
  },
  { name: "missing", run: (tab) => tab.go("/teas/none") },
];
