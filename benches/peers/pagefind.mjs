// Asks an index that Pagefind made: pagefind.mjs CODE BASE, questions on standard input, a line each. CODE is a copy of
// its pagefind.js, BASE the address of the site that it stands on. A line of JSON each: the contents of the pages found.
import { createInterface } from "node:readline";

const [code, base] = process.argv.slice(2);
globalThis.window = undefined;
const pagefind = await import(code);
await pagefind.options({ basePath: `${base}/pagefind/` });
await pagefind.init();
for await (const question of createInterface({ input: process.stdin })) {
  const { results } = await pagefind.search(question);
  const pages = await Promise.all(results.slice(0, 5).map((result) => result.data()));
  console.log(JSON.stringify(pages.map((page) => page.content)));
}
