import { expect, test } from "vitest";
import { parseRuntimeEndpoint } from "./runtime-endpoint.ts";

test("an endpoint is a unix URL or a bare absolute path", () => {
  expect(parseRuntimeEndpoint("unix:///run/containerd/containerd.sock")).toEqual({
    ok: true,
    value: "/run/containerd/containerd.sock",
  });
  expect(parseRuntimeEndpoint("/run/a b.sock")).toEqual({ ok: true, value: "/run/a b.sock" });
});

test.each(["", "run/x.sock", "unix://", "unix:/x", "tcp://127.0.0.1:1", "/run/", "http://x"])(
  "%j is refused with what to write instead",
  (endpoint) => {
    const result = parseRuntimeEndpoint(endpoint);
    expect(result).toMatchObject({ ok: false });
    expect(JSON.stringify(result)).toContain("unix:///path/to/runtime.sock");
  },
);

test("a path that no socket address can hold is refused", () => {
  expect(parseRuntimeEndpoint(`/${"x".repeat(106)}`).ok).toBe(true);
  expect(JSON.stringify(parseRuntimeEndpoint(`/${"x".repeat(107)}`))).toContain("108 bytes");
});
