// What reaches scripted containers from outside: probes, and hooks by HTTP.
import { ContainerState } from "../../model/generated/cri.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HookHttp } from "../../ports/hook-http.ts";
import type { ProbeOutcome, ProbeRequest, ProbeRunner } from "../../ports/probe-runner.ts";
import { attemptOf } from "./pod-script.ts";
import type { ProbePhase } from "./script-text.ts";
import type { ScriptedRuntime } from "./scripted-runtime.ts";
import { nanoseconds, type SimContainer } from "./sim-container.ts";

const defaultTimeoutSeconds = 1;

export function scriptedProbeRunner(runtime: ScriptedRuntime, clock: Clock): ProbeRunner {
  return {
    run: async (request, signal): Promise<ProbeOutcome> => {
      const id = request.containerId.replace(/^.*:\/\//, "");
      const container = runtime.containers.find(({ place }) => place.id === id);
      if (container?.state !== ContainerState.CONTAINER_RUNNING) {
        return { result: "error", state: "unknown", output: "the container does not run" };
      }
      switch (currentPhase(runtime, container, request, clock.nowMs())?.finds ?? "ok") {
        case "ok":
          return { result: "success", output: "" };
        case "fail":
          return { result: "failure", output: "the script of the probe says so" };
        default: {
          const { timeoutSeconds = defaultTimeoutSeconds } = request.probe;
          await clock.sleep(timeoutSeconds * 1000, signal);
          return { result: "failure", output: `no answer within ${timeoutSeconds}s` };
        }
      }
    },
  };
}

function currentPhase(
  runtime: ScriptedRuntime,
  container: SimContainer,
  { kind }: ProbeRequest,
  nowMs: number,
): ProbePhase | undefined {
  const found = runtime.scriptOf(container);
  if (found === undefined) return undefined;
  const phases = attemptOf(found.script.probes[kind] ?? [], found.restarts) ?? [];
  const ageMs = Number(nanoseconds(nowMs) - (container.status().startedAt ?? 0n)) / 1e6;
  let endMs = 0;
  return phases.find(({ lastsMs }) => {
    endMs += lastsMs;
    return ageMs < endMs;
  });
}

/** `hostIp` is the address of pods in the node's network. */
export function scriptedHookHttp(runtime: ScriptedRuntime, clock: Clock, hostIp: string): HookHttp {
  return {
    get: async (action, { container: { name, lifecycle }, podIp }, signal) => {
      const container = runtime.containers.findLast(({ config, place, state }) => {
        const sandbox = runtime.sandboxes.find(({ id }) => id === place.sandboxId);
        const ip = sandbox?.ip || hostIp;
        const runs = state === ContainerState.CONTAINER_RUNNING;
        return runs && config.metadata?.name === name && ip === podIp;
      });
      const kind = lifecycle?.preStop?.httpGet === action ? "preStop" : "postStart";
      const hook = container && runtime.hookOf(container, kind);
      if (hook === undefined) return undefined;
      await clock.sleep(hook.takesMs, signal);
      if (hook.fails) throw new Error("its script says so");
      return undefined;
    },
  };
}
