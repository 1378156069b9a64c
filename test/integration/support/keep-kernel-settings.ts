import { readFileSync, writeFileSync } from "node:fs";
import { kubeletKernelSettings } from "../../../src/core/node/kernel-settings.ts";
import { kernelSettingFiles } from "../../../src/drivers/linux/kernel-setting-files.ts";

/** Agents in a kubelet's place change the kernel's settings: after the last test they are as before the first. */
export function setup(): () => void {
  const files = kernelSettingFiles();
  const before = kubeletKernelSettings.map(({ name }) => {
    const path = files.pathOf(name);
    return { path, text: readFileSync(path, "utf8") };
  });
  return () => {
    for (const { path, text } of before) {
      if (readFileSync(path, "utf8") !== text) writeFileSync(path, text);
    }
  };
}
