import { expect, test } from "vitest";
import { nodeIpProblem } from "./node-ip-problem.ts";

const hostIps = ["10.0.0.5", "fd00::5", "127.0.0.1"];

test.each([
  ["10.0.0.5", undefined],
  ["fd00:0::5", undefined],
  ["127.0.0.1", "nodeIP can't be loopback address"],
  ["::1", "nodeIP can't be loopback address"],
  ["224.0.0.1", "nodeIP can't be a multicast address"],
  ["ff02::1", "nodeIP can't be a multicast address"],
  ["169.254.1.1", "nodeIP can't be a link-local unicast address"],
  ["fe80::1", "nodeIP can't be a link-local unicast address"],
  ["0.0.0.0", "nodeIP can't be an all zeros address"],
  ["10.0.0.6", 'node IP: "10.0.0.6" not found in the host\'s network interfaces'],
  ["x", "nodeIP must be a valid IP address"],
])("%s as a node's address: %s", (ip, problem) => {
  expect(nodeIpProblem(ip, hostIps)).toBe(problem);
});
