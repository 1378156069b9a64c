import { availableParallelism } from "node:os";
import { KeyedSemaphore } from "../../lib/keyed-semaphore.ts";
import { podDisplayName } from "../../model/pod.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { ProbeOutcome, ProbeRequest, ProbeRunner } from "../../ports/probe-runner.ts";
import { resolveContainerPort } from "./container-port.ts";
import { runExecProbe } from "./exec-probe.ts";
import { inTurns } from "./exec-turns.ts";
import { httpGetRequest } from "./http-get-request.ts";
import { type LookupOf, runHttpProbe } from "./http-probe.ts";
import type { PodNames } from "./pod-names.ts";
import { runTcpProbe } from "./tcp-probe.ts";

const userAgent = "kube-probe/1.36";
const defaultTimeoutSeconds = 1;
const execsPerCore = 2;
/** A pod with more of them waits for its own, and holds up no other. */
const probesAtOncePerPod = 16;

interface ProbeMeans {
  readonly execSync: ContainerRuntime["execSync"];
  readonly names: PodNames;
}

/** Probes from the node itself: over its network, and through the runtime for commands. */
export function newProbeRunner({ execSync, names }: ProbeMeans): ProbeRunner {
  const inTurn = inTurns(execSync, execsPerCore * availableParallelism());
  const turns = new KeyedSemaphore(probesAtOncePerPod);
  return {
    run: async (request, signal) => {
      const leave = await turns.enter(request.pod.metadata.uid, signal);
      try {
        return await runProbe({ execSync: inTurn, names }, request, signal);
      } finally {
        leave();
      }
    },
  };
}

async function runProbe(
  { execSync, names }: ProbeMeans,
  { probe, pod, status, container, containerId }: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const timeoutSeconds = probe.timeoutSeconds || defaultTimeoutSeconds;
  const timeoutMs = timeoutSeconds * 1000;
  const podIp = status.podIP ?? "";
  const lookup: LookupOf = (end) => names.lookupFor(pod.metadata.uid, end);
  if (probe.exec !== undefined) {
    const target = { containerId, command: probe.exec.command ?? [] };
    return await runExecProbe(execSync, target, timeoutSeconds, signal);
  }
  if (probe.httpGet !== undefined) {
    const request = httpGetRequest(probe.httpGet, { container, podIp, userAgent });
    if (!request.ok) return unknown(request.error);
    return await runHttpProbe({ request: request.value, lookup }, timeoutMs, signal);
  }
  if (probe.tcpSocket !== undefined) {
    const port = resolveContainerPort(probe.tcpSocket.port, container);
    if (!port.ok) return unknown(port.error);
    const target = { host: probe.tcpSocket.host || podIp, port: port.value, lookup };
    return await runTcpProbe(target, timeoutMs, signal);
  }
  if (probe.grpc !== undefined) {
    const { port, service = "" } = probe.grpc;
    // Loaded only now: few nodes have such a probe, and what it needs is large.
    const { runGrpcProbe } = await import("./grpc-probe.ts");
    return await runGrpcProbe({ host: podIp, port, service, userAgent }, timeoutMs, signal);
  }
  return unknown(`missing probe handler for ${podDisplayName(pod)}:${container.name}`);
}

function unknown(output: string): ProbeOutcome {
  return { result: "error", state: "unknown", output };
}
