import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { errorText } from "../../src/lib/error-text.ts";
import type { Contender } from "./bench-agent.ts";

export const caseLetters = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"] as const;
export type CaseLetter = (typeof caseLetters)[number];

/** How much is measured. */
export interface BenchSizes {
  /** Contenders take turns this many times. */
  readonly rounds: number;
  /** Single pods in a turn. */
  readonly samples: number;
  readonly bursts: readonly number[];
  /** How many pods the bare client starts at once, tried one after the other. */
  readonly floorConcurrency: readonly number[];
  readonly idlePods: readonly number[];
  readonly idleSeconds: number;
  readonly restartPods: number;
  readonly probedPods: number;
  readonly probeSeconds: number;
  readonly commands: number;
  /** Static pods whose manifests go at once. */
  readonly removedPods: number;
  /** Containers that get a device of a plugin each. */
  readonly deviceContainers: number;
}

export interface BenchOptions {
  readonly contenders: readonly Contender[];
  readonly cases: readonly CaseLetter[];
  readonly sizes: BenchSizes;
  readonly runtimeEndpoint: string | undefined;
  readonly dataDir: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly standalone: boolean;
  readonly json: string | undefined;
  readonly svg: string | undefined;
}

const full: BenchSizes = {
  rounds: 3,
  samples: 5,
  bursts: [30, 100],
  floorConcurrency: [2, 4, 8, 30],
  idlePods: [0, 30, 60, 100],
  idleSeconds: 60,
  restartPods: 100,
  probedPods: 20,
  probeSeconds: 30,
  commands: 10,
  removedPods: 500,
  deviceContainers: 250,
};
const quick: BenchSizes = {
  rounds: 1,
  samples: 3,
  bursts: [30],
  floorConcurrency: [4, 30],
  idlePods: [0, 30],
  idleSeconds: 10,
  restartPods: 30,
  probedPods: 10,
  probeSeconds: 8,
  commands: 3,
  removedPods: 100,
  deviceContainers: 100,
};
const smoke: BenchSizes = {
  rounds: 1,
  samples: 1,
  bursts: [3],
  floorConcurrency: [3],
  idlePods: [2],
  idleSeconds: 3,
  restartPods: 3,
  probedPods: 2,
  probeSeconds: 3,
  commands: 1,
  removedPods: 5,
  deviceContainers: 5,
};

/** The folder of the repository: tools/run.mjs puts it here. */
declare const BERTH_REPOSITORY: string;
const berth: Contender = {
  name: "berth",
  command: [process.execPath, join(BERTH_REPOSITORY, "dist/berth.js"), "kubelet"],
};

export const usage = `usage: npm run bench -- [--peer "NAME=COMMAND"]... [--quick | --smoke] [--cases a,b,...]
  [--json FILE] [--svg FILE] [--rounds N] [--samples N] [--bursts N,...] [--idle PODS,...] [--pods N]
  [--runtime-endpoint unix://SOCKET] [--data-dir FOLDER] [--kubeconfig FILE | --standalone]

  a manifests  b pods of the API  c crashes  d bursts  e idle  f restart of the agent  g probes  h command line
  i removal of many pods (--pods)  j CSI volumes  k devices

Without --runtime-endpoint a containerd of its own is started, without --kubeconfig a control plane (--standalone: none;
cases b, f and j are left out). COMMAND is another kubelet: it gets the same flags and files. --kubeconfig must hold an
administrator's certificate.`;

/** A command line that makes no sense. */
export class UsageError extends Error {}

const flags = {
  peer: { type: "string", multiple: true },
  quick: { type: "boolean", default: false },
  smoke: { type: "boolean", default: false },
  standalone: { type: "boolean", default: false },
  cases: { type: "string", default: caseLetters.join(",") },
  rounds: { type: "string" },
  samples: { type: "string" },
  bursts: { type: "string" },
  idle: { type: "string" },
  pods: { type: "string" },
  json: { type: "string" },
  svg: { type: "string" },
  "runtime-endpoint": { type: "string" },
  "data-dir": { type: "string" },
  kubeconfig: { type: "string" },
} as const;

/** Throws a UsageError before anything is measured that would be lost. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const values = parseFlags(args);
  const sizes = values.smoke ? smoke : values.quick ? quick : full;
  const contenders = [berth, ...(values.peer ?? []).map(parsePeer)];
  const names = contenders.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`--peer: two are called ${twice}`);
  for (const flag of ["json", "svg"] as const) checkFolder(flag, values[flag]);
  if (values.kubeconfig !== undefined && !existsSync(values.kubeconfig)) {
    throw new UsageError(`--kubeconfig: there is no file ${values.kubeconfig}`);
  }
  return {
    contenders,
    cases: values.cases.split(",").map(parseCase),
    sizes: {
      ...sizes,
      rounds: parseCounts("rounds", values.rounds, 1)?.[0] ?? sizes.rounds,
      samples: parseCounts("samples", values.samples, 1)?.[0] ?? sizes.samples,
      bursts: parseCounts("bursts", values.bursts, 1) ?? sizes.bursts,
      idlePods: parseCounts("idle", values.idle, 0) ?? sizes.idlePods,
      removedPods: parseCounts("pods", values.pods, 1)?.[0] ?? sizes.removedPods,
    },
    runtimeEndpoint: values["runtime-endpoint"],
    dataDir: values["data-dir"],
    kubeconfig: values.kubeconfig,
    standalone: values.standalone,
    json: values.json,
    svg: values.svg,
  };
}

function parseFlags(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flags }).values;
  } catch (error) {
    throw new UsageError(errorText(error), { cause: error });
  }
}

function checkFolder(flag: string, file: string | undefined): void {
  if (file === undefined || existsSync(dirname(file))) return;
  throw new UsageError(`--${flag}: there is no folder ${dirname(file)}`);
}

function parseCounts(
  flag: string,
  text: string | undefined,
  least: number,
): readonly number[] | undefined {
  if (text === undefined) return undefined;
  const counts = text.split(",").map((each) => (/^\d{1,6}$/.test(each) ? Number(each) : -1));
  if (counts.every((count) => count >= least)) return counts;
  throw new UsageError(`--${flag} wants whole numbers from ${least} on, not ${text}`);
}

function parsePeer(text: string): Contender {
  const [, name, command = ""] = /^([\w.-]+)=(.+)$/.exec(text) ?? [];
  const [program, ...args] = command.split(/\s+/).filter((word) => word !== "");
  if (name === undefined || program === undefined || name === "floor") {
    throw new UsageError(`--peer wants NAME=COMMAND, not ${text}`);
  }
  if (!isProgram(program)) throw new UsageError(`--peer ${name}: cannot run ${program}`);
  return { name, command: [program, ...args] };
}

function isProgram(name: string): boolean {
  const folders = name.includes("/") ? [""] : (process.env["PATH"] ?? "").split(delimiter);
  return folders.some((folder) => {
    try {
      accessSync(folder === "" ? name : join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function parseCase(text: string): CaseLetter {
  const letter = caseLetters.find((known) => known === text.trim());
  if (letter === undefined) {
    throw new UsageError(`--cases: there is no case ${text}, only ${caseLetters.join(", ")}`);
  }
  return letter;
}
