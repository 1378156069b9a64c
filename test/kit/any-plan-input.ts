// Random inputs of a pod plan, often stranger than a node ever sees.

import fc from "fast-check";
import { containerHash } from "../../src/core/container/container-hash.ts";
import type { PlanPodInput } from "../../src/core/pod/plan-input.ts";
import type { Container, ResourceRequirements } from "../../src/model/generated/kubernetes.ts";
import { containerId, podUid } from "../../src/model/ids.ts";
import type { ObservedContainer, ObservedSandbox } from "../../src/model/observed.ts";
import type { AnyContainer, Pod } from "../../src/model/pod.ts";
import type { ProbeResult } from "../../src/model/probe.ts";
import { plainPlanFacts } from "./plan-facts.ts";

const policies = fc.constantFrom("Always", "OnFailure", "Never");
const exitCodes = fc.constantFrom(0, 1, 42, 137);

const resources: fc.Arbitrary<ResourceRequirements> = fc.record(
  {
    limits: fc.record({
      cpu: fc.constantFrom("1", "500m"),
      memory: fc.constantFrom("1Gi", "64Mi"),
    }),
    requests: fc.record({ cpu: fc.constantFrom("1", "250m") }),
  },
  { requiredKeys: [] },
);

const restartRules = fc.array(
  fc.record({
    action: fc.constantFrom("Restart", "RestartAllContainers"),
    exitCodes: fc.record({
      operator: fc.constantFrom("In", "NotIn"),
      values: fc.array(exitCodes, { maxLength: 2 }),
    }),
  }),
  { maxLength: 2 },
);

const probe = fc.constant({ exec: { command: ["true"] } });

function anyContainer(name: string, restartPolicy: fc.Arbitrary<string>): fc.Arbitrary<Container> {
  const resizePolicy = fc
    .constantFrom("NotRequired", "RestartContainer")
    .map((policy) => [{ resourceName: "memory", restartPolicy: policy }]);
  return fc.record(
    {
      name: fc.constant(name),
      image: fc.constantFrom("one", "two"),
      restartPolicy,
      restartPolicyRules: restartRules,
      livenessProbe: probe,
      startupProbe: probe,
      resources,
      resizePolicy,
    },
    { requiredKeys: ["name", "image"] },
  );
}

function anyContainers(
  prefix: string,
  length: { readonly minLength: number; readonly maxLength: number },
  restartPolicy: fc.Arbitrary<string>,
): fc.Arbitrary<Container[]> {
  return fc
    .integer({ min: length.minLength, max: length.maxLength })
    .chain((count) =>
      fc.tuple(
        ...Array.from({ length: count }, (_, index) =>
          anyContainer(`${prefix}${index}`, restartPolicy),
        ),
      ),
    );
}

export const anyPod: fc.Arbitrary<Pod> = fc.record({
  metadata: fc.constant({ name: "p", namespace: "ns", uid: podUid("uid-1") }),
  spec: fc.record(
    {
      initContainers: anyContainers("i", { minLength: 1, maxLength: 4 }, fc.constant("Always")),
      containers: anyContainers("c", { minLength: 1, maxLength: 3 }, policies),
      ephemeralContainers: anyContainers("e", { minLength: 1, maxLength: 1 }, fc.constant("")).map(
        (containers) => containers.map(({ name, image }) => ({ name, image })),
      ),
      restartPolicy: policies,
      hostNetwork: fc.boolean(),
      resources,
    },
    { requiredKeys: ["containers"] },
  ),
});

function anySeen(container: AnyContainer): fc.Arbitrary<ObservedContainer> {
  const hash = containerHash(container);
  return fc.record({
    id: fc.constant(containerId(`runtime://${container.name}`)),
    name: fc.constant(container.name),
    state: fc.constantFrom("created", "running", "running", "exited", "unknown"),
    exitCode: exitCodes,
    reason: fc.constantFrom("", "", "OOMKilled"),
    hash: fc.constantFrom(hash, hash, hash, "0"),
    image: fc.constant(""),
    imageId: fc.constant(""),
    imageRef: fc.constant(""),
    message: fc.constant(""),
    restartCount: fc.constant(0),
  });
}

const sandboxes: fc.Arbitrary<ObservedSandbox[]> = fc.array(
  fc.record({
    id: fc.constantFrom("sb1", "sb2"),
    state: fc.constantFrom("ready", "ready", "ready", "notReady"),
    attempt: fc.nat({ max: 2 }),
    createdAtMs: fc.constant(0),
    network: fc.constantFrom("pod", "pod", "node"),
    ips: fc.constantFrom(undefined, [], ["10.0.0.7"], ["10.0.0.7"]),
  }),
  { maxLength: 2 },
);

const probeResults: fc.Arbitrary<ProbeResult | undefined> = fc.constantFrom(
  "Success",
  "Success",
  "Failure",
  "UNKNOWN",
  undefined,
);

function byKey<T>(keys: readonly string[], values: fc.Arbitrary<T | undefined>) {
  return fc.tuple(...keys.map(() => values)).map((drawn) => {
    const entries = keys.map((key, index) => [key, drawn[index]] as const);
    return new Map(
      entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
    );
  });
}

export const anyPlanInput: fc.Arbitrary<PlanPodInput> = anyPod.chain((pod) => {
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const all = [...initContainers, ...containers, ...ephemeralContainers];
  const ids = all.map(({ name }) => `runtime://${name}`);
  return fc.record({
    pod: fc.constant(pod),
    observed: fc.record({
      uid: fc.constant(podUid("uid-1")),
      name: fc.constant("p"),
      namespace: fc.constant("ns"),
      ips: fc.constant([]),
      containers: fc
        .tuple(...all.map((container) => fc.option(anySeen(container), { nil: undefined })))
        .map((seen) => seen.filter((one) => one !== undefined)),
      sandboxes,
      activeContainerIds: fc.constant([]),
    }),
    livenessResults: byKey(ids, probeResults),
    startupResults: byKey(ids, probeResults),
    restartAllContainers: fc.boolean().map((restart) => restart && containers.length > 1),
    actuatedResources: fc.record({
      containers: byKey(
        all.map(({ name }) => name),
        fc.option(resources, { nil: undefined }),
      ),
      // Upstream repeats a resize of the pod itself until its init containers are done, and so do plans.
      pod:
        initContainers.length > 0
          ? fc.constant(pod.spec.resources)
          : fc.option(resources, { nil: undefined }),
    }),
    nowMs: fc.constant(plainPlanFacts.nowMs),
    restarts: fc.constant(plainPlanFacts.restarts),
    runsOutsideCgroup: fc.constant(false),
  });
});
