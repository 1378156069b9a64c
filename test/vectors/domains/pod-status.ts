import { nodeHostIps } from "../../../src/core/node/node-host-ips.ts";
import type { StartFailure } from "../../../src/core/status/container-statuses.ts";
import { computePodStatus } from "../../../src/core/status/pod-status.ts";
import type { ProbeView } from "../../../src/core/status/probed-readiness.ts";
import { parseTime } from "../../../src/lib/time.ts";
import type { PodStatus } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { ProbeResult } from "../../../src/model/probe.ts";
import {
  decodePodStatus,
  decodeProbeResults,
  type EncodedPodStatus,
  withoutNulls,
} from "../encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly podStatus: EncodedPodStatus;
  readonly statusManagerStatus?: PodStatus;
  readonly podIsTerminal: boolean;
  readonly reasonCache?: Readonly<Record<string, StartFailure>>;
  readonly probes: EncodedProbes;
  readonly evict?: { readonly reason: string; readonly message: string };
  readonly node: {
    readonly internalIPs: readonly string[] | null;
    readonly configuredNodeIPs: readonly string[] | null;
  };
}

interface EncodedProbes {
  readonly kubeletStart: string;
  readonly workers: readonly { readonly container: string; readonly type: string }[] | null;
  readonly readinessResults: Readonly<Record<string, ProbeResult>>;
  readonly startupResults: Readonly<Record<string, ProbeResult>>;
}

export const podStatus: VectorDomain = vectorDomain<Input>("pod-status", (input) => {
  const { pod, statusManagerStatus, node, evict } = withoutNulls(input);
  const addresses = (node.internalIPs ?? []).map((address) => ({ type: "InternalIP", address }));
  const { status } = computePodStatus({
    pod,
    observed: decodePodStatus(input.podStatus),
    cachedStatus: statusManagerStatus,
    isTerminal: input.podIsTerminal,
    startFailures: new Map(Object.entries(input.reasonCache ?? {})),
    probes: decodeProbes(input.probes),
    eviction: evict,
    resizeConditions: [],
    hostIps: nodeHostIps({ status: { addresses } }),
    primaryIpFamily: node.configuredNodeIPs?.[0]?.includes(":") === true ? 6 : 4,
    supportsRecursiveReadOnly: false,
  });
  return { status };
});

function decodeProbes(probes: EncodedProbes): ProbeView {
  const probed = (wanted: string) =>
    new Set(
      (probes.workers ?? [])
        .filter(({ type }) => type === wanted)
        .map(({ container }) => container),
    );
  return {
    agentStartedAtMs: parseTime(probes.kubeletStart) ?? Number.NaN,
    readinessProbed: probed("readiness"),
    startupProbed: probed("startup"),
    readinessResults: decodeProbeResults(probes.readinessResults),
    startupResults: decodeProbeResults(probes.startupResults),
  };
}
