import { containerConfig } from "../../../src/core/cri/container-config.ts";
import { imageUser } from "../../../src/core/cri/image-user.ts";
import type { RuntimeSettings } from "../../../src/core/cri/runtime-settings.ts";
import { sandboxConfig } from "../../../src/core/cri/sandbox-config.ts";
import { usersBeyondTheNodes, usualUsersPerPod } from "../../../src/core/cri/user-namespace.ts";
import type { DNSConfig } from "../../../src/model/generated/cri.ts";
import { findContainer, type Pod } from "../../../src/model/pod.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly containerName: string;
  readonly restartCount: number;
  readonly imageRef: string;
  readonly imageUser: { readonly uid: number | null; readonly username: string };
  readonly sandboxAttempt: number;
  readonly hostname: string;
  readonly dns: DNSConfig;
  readonly memoryCapacity: number;
}

/** The node on which the vectors were made. */
const node: Omit<RuntimeSettings, "memoryCapacityBytes"> = {
  podLogsRoot: "/var/log/pods",
  seccompProfileRoot: "/fakeSeccompProfileRoot",
  seccompDefault: false,
  cgroupVersion: 2,
  cpuCfsQuota: true,
  cpuCfsPeriodUs: 100_000,
  singleProcessOomKill: true,
  swap: { controllerAvailable: false, behavior: "NoSwap", capacityBytes: 0 },
  hugePageSizes: ["2MB", "1GB"],
  extraMaskedPaths: [],
  seLinux: undefined,
  podUsers: usersBeyondTheNodes(usualUsersPerPod),
  containerStopSignals: false,
};

export const criConfigs: VectorDomain = vectorDomain<Input>("cri-configs", (input) => {
  const { pod, imageUser: image } = input;
  const settings = { ...node, memoryCapacityBytes: input.memoryCapacity };
  const container = findContainer(pod, input.containerName)?.container;
  if (container === undefined) throw new Error(`no container ${input.containerName}`);
  const made = containerConfig(
    {
      pod,
      container,
      restartCount: input.restartCount,
      imageRef: input.imageRef,
      imageUser: imageUser({
        uid: image.uid === null ? undefined : { value: BigInt(image.uid) },
        username: image.username,
      }),
      environment: new Map(),
      mounts: [],
    },
    settings,
  );
  const sandbox = sandboxConfig(
    {
      pod,
      attempt: input.sandboxAttempt,
      dns: input.dns,
      hostname: input.hostname,
      cgroupParent: "",
    },
    settings,
  );
  return {
    ...(made.ok ? { container: protoJson(made.value) } : { containerError: made.error }),
    ...(sandbox.ok ? { sandbox: protoJson(sandbox.value) } : { sandboxError: sandbox.error }),
  };
});

/** Proto field names and no zero values, as the vectors have messages. Maps keep their keys. */
function protoJson(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(protoJson);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => !isZero(field));
  return Object.fromEntries(
    fields.map(([name, field]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      ["labels", "annotations", "sysctls", "unified"].includes(name) ? field : protoJson(field),
    ]),
  );
}

function isZero(value: unknown): boolean {
  return value === undefined || value === "" || value === 0 || value === 0n || value === false;
}
