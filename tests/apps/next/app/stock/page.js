import { Suspense } from "react";

export const dynamic = "force-dynamic";

async function Shelves() {
  await new Promise((done) => setTimeout(done, 400));
  return <ul>{["Assam", "Sencha", "Oolong"].map((tea) => <li key={tea}>{tea}: in stock</li>)}</ul>;
}

/** Streamed: the heading comes at once, the list when it is there. */
export default function Stock() {
  return (
    <>
      <h1>Stock</h1>
      <Suspense fallback={<p>Counting.</p>}>
        <Shelves />
      </Suspense>
    </>
  );
}
