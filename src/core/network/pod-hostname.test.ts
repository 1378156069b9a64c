import { expect, test } from "vitest";
import { kernelHostname } from "./pod-hostname.ts";

const domain = "sub.ns.svc.cluster.local";

test("the kernel's name is the full one only where that is asked for", () => {
  expect(kernelHostname({ hostname: "web", domain }, false)).toEqual({ ok: true, value: "web" });
  expect(kernelHostname({ hostname: "web", domain }, true)).toEqual({
    ok: true,
    value: `web.${domain}`,
  });
  expect(kernelHostname({ hostname: "web", domain: "" }, true)).toEqual({ ok: true, value: "web" });
});

test("a full name that the kernel cannot hold is refused", () => {
  const hostname = "a".repeat(40);
  expect(kernelHostname({ hostname, domain }, true)).toEqual({
    ok: false,
    error: `failed to construct FQDN from pod hostname and cluster domain, FQDN ${hostname}.${domain} is too long (64 characters is the max, 65 characters requested)`,
  });
});
