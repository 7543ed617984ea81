// A GraphQL server of graphql-yoga, as its documentation builds one: a shop's orders, a mutation, and errors with codes.
// Usage: node graphql_site.cjs PORT
"use strict";
const { createServer } = require("node:http");
const { GraphQLError } = require("graphql");
const { createSchema, createYoga } = require("graphql-yoga");

const orders = new Map([["o-1", { id: "o-1", total: 129.5, status: "OPEN", customer: { name: "Zoë", email: "z@shop.example" } }]]);
let placed = 0;

const typeDefs = /* GraphQL */ `
  enum Status { OPEN SENT }
  type Customer { name: String! email: String }
  type Order { id: ID! total: Float! status: Status! customer: Customer! }
  input NewOrder { item: String! quantity: Int! note: String }
  type Query {
    "Finds an order by its number."
    order(id: ID!): Order
    "Lists orders."
    orders(status: Status, first: Int = 10): [Order!]!
  }
  type Mutation {
    "Places an order."
    placeOrder(order: NewOrder!): Order
  }
`;

const failure = (text, code) => new GraphQLError(text, { extensions: { code } });

const resolvers = {
  Query: {
    order(_, { id }) {
      if (!orders.has(id)) throw failure("There is no such order.", "NOT_FOUND");
      return orders.get(id);
    },
    orders: (_, { status, first }) => [...orders.values()].filter((one) => !status || one.status === status).slice(0, first),
  },
  Mutation: {
    placeOrder(_, { order }) {
      if (order.quantity > 8) throw failure("There are not that many.", "SOLD_OUT");
      placed += 1;
      const id = `o-${orders.size + 1}`;
      orders.set(id, { id, total: order.quantity * 10, status: "OPEN", customer: { name: order.note || order.item } });
      return orders.get(id);
    },
  },
};

const yoga = createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: false });
createServer((request, response) => {
  if (request.url === "/taken") return response.writeHead(200, { "Content-Type": "text/plain" }).end(String(placed));
  return yoga(request, response);
}).listen(Number(process.argv[2]), "127.0.0.1");
