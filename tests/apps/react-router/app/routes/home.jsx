import { useState } from "react";
import { Link } from "react-router";

export const meta = () => [{ title: "Tea shop" }, { name: "description", content: "A small shop." }];

export function loader() {
  return { teas: Array.from({ length: 40 }, (_, n) => `Tea number ${n + 1} is grown on hill ${(n * 7) % 11}.`) };
}

export default function Home({ loaderData }) {
  const [cups, setCups] = useState(0);
  return (
    <>
      <h1>Tea</h1>
      {loaderData.teas.map((tea) => <p key={tea}>{tea}</p>)}
      <Link to="/teas/assam">Assam</Link> <button onClick={() => setCups(cups + 1)}>Cups: {cups}</button>
    </>
  );
}
