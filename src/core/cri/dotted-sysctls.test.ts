import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { withDottedSysctls } from "./dotted-sysctls.ts";

test.each([
  ["net/ipv4/conf/eno2.100/rp_filter", "net.ipv4.conf.eno2/100.rp_filter"],
  ["net.ipv4.conf.eno2/100.rp_filter", "net.ipv4.conf.eno2/100.rp_filter"],
  ["kernel/shm_rmid_forced", "kernel.shm_rmid_forced"],
])("%s reaches the runtime as %s", (name, expected) => {
  const pod = buildPod({
    metadata: { name: "p", namespace: "n", uid: "u" },
    spec: { containers: [], securityContext: { sysctls: [{ name, value: "1" }] } },
  });
  const { sysctls } = withDottedSysctls(pod).spec.securityContext ?? {};
  expect(sysctls).toEqual([{ name: expected, value: "1" }]);
});
