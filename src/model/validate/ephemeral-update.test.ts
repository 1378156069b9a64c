import { expect, test } from "vitest";
import { defaultPod } from "../defaults/default-pod.ts";
import type { EphemeralContainer } from "../generated/kubernetes.ts";
import { podUid } from "../ids.ts";
import { validateEphemeralUpdate } from "./ephemeral-update.ts";
import { formatFieldError } from "./field-error.ts";

const { spec } = defaultPod({ spec: { containers: [{ name: "main", image: "a" }] } });
const pod = { metadata: { name: "web", namespace: "default", uid: podUid("u") }, spec };

function problems(more: Partial<EphemeralContainer>): string[] {
  const defaults = { imagePullPolicy: "Always", terminationMessagePolicy: "File" };
  const container = { name: "debug", image: "b", ...defaults, ...more };
  return validateEphemeralUpdate(pod, [container]).map(formatFieldError);
}

test("an ephemeral container may be added", () => {
  expect(problems({})).toEqual([]);
});

test("a field that this node cannot honour is refused, as it is when a pod starts", () => {
  const securityContext = { windowsOptions: { runAsUserName: "x" } };
  expect(problems({ securityContext })).toEqual([
    "spec.ephemeralContainers[0].securityContext.windowsOptions: Forbidden: not supported by this node, which runs Linux containers only; use the fields for Linux",
  ]);
});

test("a field that the API forbids is refused once, in its words", () => {
  expect(problems({ lifecycle: { preStop: { sleep: { seconds: 1 } } } })).toEqual([
    "spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container",
  ]);
});
