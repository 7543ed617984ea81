// How many pixels differ between two pictures. Usage: node pixels.mjs PACKAGES < [[ONE, OTHER], ...] > [NUMBER, ...]
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const { PNG } = createRequire(path.join(process.argv[2], "package.json"))("pngjs");

// Of 255 in red, green or blue: less is how a shadow or a scaled picture comes out from one time to the next.
const VISIBLE = 8;

function differing(one, other) {
  const [a, b] = [one, other].map((file) => PNG.sync.read(fs.readFileSync(file)));
  const all = Math.max(a.width * a.height, b.width * b.height);
  if (a.width !== b.width || a.height !== b.height) return [all, all];
  let count = 0;
  for (let n = 0; n < all * 4; n += 4) {
    if ([0, 1, 2].some((channel) => Math.abs(a.data[n + channel] - b.data[n + channel]) > VISIBLE)) count += 1;
  }
  return [count, all];
}

const pairs = JSON.parse(fs.readFileSync(0, "utf8"));
console.log(JSON.stringify(pairs.map(([one, other]) => differing(one, other))));
