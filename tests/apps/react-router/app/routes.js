import { index, route } from "@react-router/dev/routes";

export default [
  index("routes/home.jsx"),
  route("stock", "routes/stock.jsx"),
  route("order", "routes/order.jsx"),
  route("teas/:name", "routes/tea.jsx"),
];
