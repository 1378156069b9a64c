import { parseDraCheckpoint } from "../../../../src/core/devices/dra/dra-checkpoint.ts";
import type { Pod } from "../../../../src/model/pod.ts";
import type { Simulation } from "../simulation.ts";

const cpuFile = "/sim/cpu_manager_state";
const claimFile = "/sim/dra_manager_state";

/** What is held by pods that do not need it any more, or shared that is another's. */
export async function deviceProblems(
  sim: Simulation,
  shown: readonly Pod[],
): Promise<readonly string[]> {
  const { devices } = sim;
  if (devices === undefined) return [];
  const users = new Set(
    shown
      .filter(({ status }) => !/^(Succeeded|Failed)$/.test(status?.phase ?? ""))
      .map(({ metadata }) => metadata.uid as string),
  );
  const others = (await holders(sim)).filter(({ uid }) => !users.has(uid));
  const needed = new Set(
    shown
      .filter(({ metadata }) => users.has(metadata.uid))
      .flatMap(({ spec }) => spec.resourceClaims ?? [])
      .map(({ resourceClaimName = "" }) => `uid-of-${resourceClaimName}`),
  );
  return [
    ...others.map(({ uid, what }) => `${what} is kept for ${uid}`),
    ...devices.rules.sharers(),
    ...devices.drivers.flatMap(({ name, prepared }) =>
      [...prepared]
        .filter((uid) => !needed.has(uid))
        .map((uid) => `${uid} is still prepared by ${name}`),
    ),
  ];
}

interface Holder {
  readonly uid: string;
  readonly what: string;
}

/** Who has what, as the next agent will read it. Devices of pods that are gone are taken back when others need some. */
async function holders({ machine }: Simulation): Promise<readonly Holder[]> {
  const { files } = machine;
  const cpus = JSON.parse((await files.readText(cpuFile)) ?? "{}") as CpuFile;
  const claimText = await files.readText(claimFile);
  const claims = claimText === undefined ? undefined : parseDraCheckpoint(claimText);
  return [
    ...Object.entries(cpus.entries ?? {}).map(([uid, own]) => ({
      uid,
      what: `CPUs ${JSON.stringify(own)}`,
    })),
    ...(claims?.ok === true ? claims.value : []).flatMap(({ name, pods }) =>
      [...pods].map((uid) => ({ uid, what: `claim ${name}` })),
    ),
  ];
}

interface CpuFile {
  readonly entries?: Readonly<Record<string, unknown>>;
}
