// Converts the pages of a folder to Markdown for benches/articles. Usage: node markdown.mjs MODULES turndown|readability DIR
// MODULES is the node_modules folder with the packages. Prints {"texts": {NAME: Markdown}, "milliseconds": CPU a page}.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, parse } from "node:path";

const [modules, how, folder] = process.argv.slice(2);
const load = createRequire(join(modules, "here.js"));
const Turndown = load("turndown");
const { gfm } = load("turndown-plugin-gfm");
const { Readability } = load("@mozilla/readability");
const { parseHTML } = load("linkedom");

const turndown = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced" });
turndown.use(gfm);
turndown.remove(["script", "style", "noscript"]);

function markdown(html) {
  if (how === "turndown") return turndown.turndown(html);
  const article = new Readability(parseHTML(html).document).parse();
  return article?.content ? turndown.turndown(article.content) : "";
}

const texts = {};
const before = process.cpuUsage();
for (const file of readdirSync(folder)) {
  texts[parse(file).name] = markdown(readFileSync(join(folder, file), "utf8"));
}
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ texts, milliseconds: (user + system) / 1000 / Object.keys(texts).length }));
