"use client";
import { useState } from "react";

export function Counter() {
  const [cups, setCups] = useState(0);
  return <button onClick={() => setCups(cups + 1)}>Cups: {cups}</button>;
}
