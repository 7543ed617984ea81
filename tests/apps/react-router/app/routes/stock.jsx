import { Suspense } from "react";
import { Await } from "react-router";

/** The promise is not awaited: what it brings is streamed after the page. */
export function loader() {
  const shelves = new Promise((done) => setTimeout(() => done(["Assam", "Sencha", "Oolong"]), 400));
  return { shelves };
}

export default function Stock({ loaderData }) {
  return (
    <>
      <h1>Stock</h1>
      <Suspense fallback={<p>Counting.</p>}>
        <Await resolve={loaderData.shelves}>
          {(teas) => <ul>{teas.map((tea) => <li key={tea}>{tea}: in stock</li>)}</ul>}
        </Await>
      </Suspense>
    </>
  );
}
