import Link from "next/link";
import "./site.css";

export const metadata = { title: "Tea shop", description: "A small shop." };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>
        <nav>
          <Link href="/">Home</Link> <Link href="/stock">Stock</Link> <Link href="/order">Order</Link>
        </nav>
        <main>{children}</main>
      </body>
    </html>
  );
}
