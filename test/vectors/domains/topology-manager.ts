import type { AllocationError } from "../../../src/core/devices/topology/allocation-error.ts";
import {
  type HintProvider,
  TopologyManager,
} from "../../../src/core/devices/topology/topology-manager.ts";
import {
  decideTopology,
  type TopologyPolicy,
  topologyPolicy,
} from "../../../src/core/devices/topology/topology-policy.ts";
import type { Pod } from "../../../src/model/pod.ts";
import {
  decodeHints,
  type EncodedHints,
  type EncodedNode,
  encodeHint,
  numaNodes,
} from "../machine-encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Settings {
  readonly topology: readonly EncodedNode[];
  readonly policy: string;
  readonly scope: string;
  readonly policyOptions: Readonly<Record<string, string>>;
}

interface EncodedProvider {
  readonly hints?: Readonly<Record<string, EncodedHints>>;
  readonly podHints?: EncodedHints;
  readonly allocateErrors?: Readonly<
    Record<string, { readonly message: string; readonly type?: string }>
  >;
}

type AfterStep =
  | { readonly op: "addContainer"; readonly container: string; readonly containerID: string }
  | { readonly op: "removeContainer"; readonly containerID: string };

type Input = Settings &
  (
    | { readonly kind: "new" }
    | { readonly kind: "merge"; readonly hints: readonly EncodedHints[] }
    | {
        readonly kind: "admit";
        readonly pod: Pod;
        readonly providers: readonly EncodedProvider[];
        readonly after?: readonly AfterStep[];
      }
  );

export const topologyManagerDomain: VectorDomain = vectorDomain<Input>(
  "topology-manager",
  (input) => {
    const { policy, scope, policyOptions: options, topology } = input;
    const made = topologyPolicy({ policy, scope, options }, numaNodes(topology));
    if (!made.ok) return { newError: made.error };
    if (input.kind === "new") return { policy: made.value.name, scope: made.value.scope };
    if (input.kind === "merge") {
      const { hint, admit } = decideTopology(made.value, input.hints.map(decodeHints));
      return { hint: encodeHint(hint), admit };
    }
    return admit(made.value, input);
  },
);

async function admit(
  policy: TopologyPolicy,
  input: {
    readonly pod: Pod;
    readonly providers: readonly EncodedProvider[];
    readonly after?: readonly AfterStep[];
  },
): Promise<unknown> {
  const { pod, after = [] } = input;
  const calls: object[] = [];
  const providers = input.providers.map((encoded, provider) =>
    providerOf(encoded, provider, calls),
  );
  const manager = new TopologyManager(policy, providers);
  const failure = await manager.admit(pod);
  const podUid = pod.metadata.uid;
  const affinities = () =>
    Object.fromEntries(
      [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => [
        name,
        encodeHint(manager.affinity({ podUid, container: name })),
      ]),
    );
  return {
    admit: failure === undefined,
    reason: failure?.reason ?? "",
    message: failure?.message ?? "",
    calls,
    affinities: affinities(),
    after: after.map((step) => {
      if (step.op === "removeContainer") manager.removeContainer(step.containerID);
      else manager.addContainer(step.containerID, { podUid, container: step.container });
      return { affinities: affinities() };
    }),
  };
}

function providerOf(encoded: EncodedProvider, provider: number, calls: object[]): HintProvider {
  return {
    hints(_pod, { name: container }) {
      calls.push({ provider, method: "GetTopologyHints", container });
      return decodeHints(encoded.hints?.[container]);
    },
    podHints() {
      calls.push({ provider, method: "GetPodTopologyHints" });
      return decodeHints(encoded.podHints);
    },
    allocate(_pod, { name: container }): AllocationError | undefined {
      calls.push({ provider, method: "Allocate", container });
      const error = encoded.allocateErrors?.[container];
      if (error === undefined) return undefined;
      const { message, type } = error;
      return type === undefined ? { message } : { message, reason: type };
    },
  };
}
