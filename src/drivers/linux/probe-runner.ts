import { availableParallelism } from "node:os";
import { resolveContainerPort } from "../../model/container-port.ts";
import { httpGetRequest } from "../../model/http-get-request.ts";
import { podDisplayName } from "../../model/pod.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { ProbeOutcome, ProbeRequest, ProbeRunner } from "../../ports/probe-runner.ts";
import { runExecProbe } from "./exec-probe.ts";
import { inTurns } from "./exec-turns.ts";
import { type LookupOf, runHttpProbe } from "./http-probe.ts";
import type { PodNames } from "./pod-names.ts";
import { runTcpProbe } from "./tcp-probe.ts";

const userAgent = "kube-probe/1.36";
const defaultTimeoutSeconds = 1;
const execsPerCore = 2;

interface ProbeMeans {
  readonly execSync: ContainerRuntime["execSync"];
  readonly names: PodNames;
}

/** Probes from the node itself: over its network, and through the runtime for commands. */
export function newProbeRunner({ execSync, names }: ProbeMeans): ProbeRunner {
  const inTurn = inTurns(execSync, execsPerCore * availableParallelism());
  return { run: (request, signal) => runProbe({ execSync: inTurn, names }, request, signal) };
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
