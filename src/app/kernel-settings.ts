// protectKernelDefaults: what a kubelet relies on in the kernel is set, or only compared.
import {
  type FoundSetting,
  foundText,
  type KernelDifference,
  kernelDifferences,
  kubeletKernelSettings,
} from "../core/node/kernel-settings.ts";
import type { KernelSettingFiles } from "../drivers/linux/kernel-setting-files.ts";
import { errorText } from "../lib/error-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { Log } from "../ports/log.ts";

export interface KernelSettingsPolicy {
  /** protectKernelDefaults: differences are refused instead of changed. */
  readonly protects: boolean;
  /** The agent runs in a user namespace, where the kernel's settings are not its own: what cannot be set is only logged. */
  readonly inUserNamespace: boolean;
}

/** Brings the kernel's settings in line, or throws a SetupError that names everything that is not. */
export async function applyKernelSettings(
  { protects, inUserNamespace }: KernelSettingsPolicy,
  files: KernelSettingFiles,
  log: Log,
): Promise<void> {
  const differences = await readDifferences(files);
  if (differences.length === 0) return;
  if (protects) throw refusal(differences, files);
  const failures: KernelDifference[] = [];
  for (const difference of differences) {
    const { name, value, found } = difference;
    try {
      await files.write(name, value);
      log.info("changed a kernel setting", { name, from: foundText(found), to: value });
    } catch (error) {
      failures.push({ ...difference, found: { problem: errorText(error) } });
    }
  }
  if (failures.length === 0) return;
  if (!inUserNamespace) throw notSettable(failures, files);
  for (const { name, value, found } of failures) {
    log.warn("cannot change a kernel setting", { name, to: value, error: foundText(found) });
  }
}

async function readDifferences(files: KernelSettingFiles): Promise<readonly KernelDifference[]> {
  const found = new Map<string, FoundSetting>();
  for (const { name } of kubeletKernelSettings) {
    const seen = await files.read(name).then(
      (text): FoundSetting => ({ text }),
      (error: unknown): FoundSetting => ({ problem: errorText(error) }),
    );
    found.set(name, seen);
  }
  return kernelDifferences(kubeletKernelSettings, found);
}

function refusal(differences: readonly KernelDifference[], files: KernelSettingFiles): SetupError {
  const list = differences.map(
    ({ name, value, found }) =>
      `\n  ${files.pathOf(name)} is ${foundText(found)}, wanted ${value}: sysctl -w ${name}=${value}`,
  );
  return new SetupError(
    "kernel settings are not as a kubelet needs them, and protectKernelDefaults (--protect-kernel-defaults) forbids changing them",
    `set them, also in /etc/sysctl.d for the next boot, or set protectKernelDefaults to false:${list.join("")}`,
  );
}

function notSettable(failures: readonly KernelDifference[], files: KernelSettingFiles): SetupError {
  const list = failures.map(
    ({ name, value, found }) => `\n  ${files.pathOf(name)} to ${value} (${foundText(found)})`,
  );
  return new SetupError(
    "kernel settings that a kubelet needs cannot be set",
    `set them on the host, or with the feature gate KubeletInUserNamespace go on without:${list.join("")}`,
  );
}
