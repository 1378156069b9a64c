// The thread of the kubelet's API with two paths that break it, in place of an unknown vulnerability.
import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";

subscribe("http.server.request.start", (message) => {
  const { request } = message as { readonly request: IncomingMessage };
  if (request.url === "/test/freeze") for (;;);
  const kept: object[] = [];
  while (request.url === "/test/exhaust") kept.push(Array.from({ length: 1000 }, () => ({})));
});

await import("../../../src/app/kubelet-api-thread.ts");
