import { expect, test } from "vitest";
import { err, ok } from "../../lib/result.ts";
import { NamespaceMode } from "../../model/generated/cri.ts";
import type { Pod } from "../../model/pod.ts";
import { podUserNamespace } from "./user-namespace.ts";

const pod: Pod = { metadata: { name: "p", namespace: "n", uid: "u" }, spec: { containers: [] } };

test.each([undefined, true])(
  "a pod with hostUsers %s says that it uses the node's users",
  (hostUsers) => {
    const result = podUserNamespace({ ...pod, spec: { ...pod.spec, hostUsers } });
    expect(result).toEqual(ok({ mode: NamespaceMode.NODE }));
  },
);

test("a pod that wants users of its own is refused, naming the field", () => {
  const result = podUserNamespace({ ...pod, spec: { ...pod.spec, hostUsers: false } });
  expect(result).toEqual(
    err("can't set `spec.hostUsers: false`, runtime does not support user namespaces"),
  );
});
