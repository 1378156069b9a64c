// What simulated containers do, as the annotations of their pod say. Described in docs/cli.md.
import { err, ok, type Result } from "../../lib/result.ts";
import type { LifecycleHandler } from "../../model/generated/kubernetes.ts";
import { type AnyContainer, type Pod, podContainers } from "../../model/pod.ts";
import type { ProbeKind } from "../../model/probe.ts";
import {
  type Deed,
  type ProbePhase,
  parseDeeds,
  parsePhases,
  parseRuns,
  type RunScript,
} from "./script-text.ts";

export type HookKind = "postStart" | "preStop";

/** Each list has one entry per attempt; the last one holds for all that follow. */
export interface ContainerScript {
  readonly runs?: readonly RunScript[];
  readonly pulls?: readonly Deed[];
  readonly probes: Readonly<Partial<Record<ProbeKind, readonly (readonly ProbePhase[])[]>>>;
  readonly hooks: Readonly<Partial<Record<HookKind, readonly Deed[]>>>;
}

/** By container name. */
export type PodScript = ReadonlyMap<string, ContainerScript>;

export interface ScriptProblem {
  readonly annotation: string;
  readonly message: string;
}

const prefix = "sim.berth.dev/";
const parts = ["pull", "startup", "liveness", "readiness", "postStart", "preStop"] as const;
type Part = (typeof parts)[number];

const keys = `${prefix}CONTAINER or ${prefix}CONTAINER.PART, where PART is one of ${parts.join(", ")}`;
const noScript: ContainerScript = { probes: {}, hooks: {} };

/** All scripts of a pod, or all that is wrong with them. */
export function parsePodScript(pod: Pod): Result<PodScript, readonly ScriptProblem[]> {
  const scripts = new Map<string, ContainerScript>();
  const problems: ScriptProblem[] = [];
  for (const [annotation, text] of Object.entries(pod.metadata.annotations ?? {})) {
    if (!annotation.startsWith(prefix)) continue;
    const [name = "", part, ...surplus] = annotation.slice(prefix.length).split(".");
    const script = scripts.get(name) ?? noScript;
    const parsed =
      surplus.length > 0 ? err(`expected ${keys}`) : parsePart(pod, { name, part, text }, script);
    if (parsed.ok) scripts.set(name, parsed.value);
    else problems.push({ annotation, message: parsed.error });
  }
  return problems.length === 0 ? ok(scripts) : err(problems);
}

/** What the attempt of that number does, counted from 0. */
export function attemptOf<T>(attempts: readonly T[], number: number): T | undefined {
  return attempts[Math.min(number, attempts.length - 1)];
}

interface PartText {
  readonly name: string;
  readonly part: string | undefined;
  readonly text: string;
}

function parsePart(
  pod: Pod,
  { name, part, text }: PartText,
  script: ContainerScript,
): Result<ContainerScript, string> {
  const containers = podContainers(pod).map(({ container }) => container);
  const container = containers.find((one) => one.name === name);
  if (container === undefined) {
    const known = containers.map((one) => one.name).join(", ");
    return err(`the pod has no container "${name}", only ${known}; expected ${keys}`);
  }
  if (part === undefined) return change(parseRuns(text), (runs) => ({ ...script, runs }));
  const known = parts.find((one) => one === part);
  if (known === undefined) return err(`there is no part "${part}"; expected ${keys}`);
  const missing = missingSubject(container, known);
  if (missing !== undefined) return err(missing);
  switch (known) {
    case "pull":
      return change(parseDeeds(text), (pulls) => ({ ...script, pulls }));
    case "startup":
    case "liveness":
    case "readiness":
      return change(parsePhases(text), (phases) => ({
        ...script,
        probes: { ...script.probes, [known]: phases },
      }));
    case "postStart":
    case "preStop":
      return change(parseDeeds(text), (deeds) => ({
        ...script,
        hooks: { ...script.hooks, [known]: deeds },
      }));
    default:
      return known satisfies never;
  }
}

/** A script for what the container does not have would never be played. */
function missingSubject(container: AnyContainer, part: Part): string | undefined {
  switch (part) {
    case "pull":
      return undefined;
    case "startup":
    case "liveness":
    case "readiness":
      return container[`${part}Probe`] === undefined
        ? `container ${container.name} has no ${part}Probe`
        : undefined;
    case "postStart":
    case "preStop":
      return missingHook(container, part);
    default:
      return part satisfies never;
  }
}

function missingHook(container: AnyContainer, kind: HookKind): string | undefined {
  const hook: LifecycleHandler | undefined = container.lifecycle?.[kind];
  if (hook === undefined) return `container ${container.name} has no ${kind} hook`;
  if (hook.exec !== undefined || hook.httpGet !== undefined) return undefined;
  return `the ${kind} hook of container ${container.name} sleeps; only exec and httpGet hooks follow a script`;
}

function change<T>(
  parsed: Result<T, string>,
  apply: (value: T) => ContainerScript,
): Result<ContainerScript, string> {
  return parsed.ok ? ok(apply(parsed.value)) : parsed;
}
