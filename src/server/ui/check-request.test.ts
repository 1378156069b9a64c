import { expect, test } from "vitest";
import { servedHosts } from "./check-request.ts";

test.each([
  ["127.0.0.1", 10260, ["127.0.0.1:10260", "localhost:10260"]],
  ["127.0.0.1", 80, ["127.0.0.1", "localhost"]],
  ["::1", 10260, ["[::1]:10260", "localhost:10260"]],
  ["0:0:0:0:0:0:0:1", 80, ["[::1]", "localhost"]],
  ["2001:DB8:0:0::0A", 10260, ["[2001:db8::a]:10260"]],
  ["fe80::7%eth0", 10260, ["[fe80::7]:10260"]],
])("%s with port %i is called as browsers call it", (host, port, names) => {
  expect([...servedHosts(host, port)]).toEqual(names);
});
