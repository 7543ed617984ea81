import Image from "next/image";
import { Counter } from "./counter";

export default function Home() {
  return (
    <>
      <h1>Tea</h1>
      <Image src="/leaves.png" alt="Leaves" width={240} height={120} />
      {Array.from({ length: 40 }, (_, n) => <p key={n}>Tea number {n + 1} is grown on hill {(n * 7) % 11}.</p>)}
      <Counter />
    </>
  );
}
