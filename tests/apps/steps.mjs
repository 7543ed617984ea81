// What visits have in common.

export const text = (page, selector) => page.locator(selector).first().innerText();

/** Asks from within the page, as an application's own script does. */
export const ask = (page, where, options = {}) => page.evaluate(async ([where, options]) => {
  const answer = await fetch(where, options);
  return `${answer.status} ${await answer.text()}`;
}, [where, options]);

/** Whether the start of an answer arrives clearly before its end: a page that is streamed. */
export const streams = (page, where) => page.evaluate(async (where) => {
  const reader = (await fetch(where)).body.getReader();
  await reader.read();
  const start = performance.now();
  while (!(await reader.read()).done);
  return performance.now() - start > 200 ? "streamed" : "all at once";
}, where);
