/** A kernel setting that a kubelet relies on. */
export interface KernelSetting {
  /** As sysctl names it. */
  readonly name: string;
  readonly value: number;
}

/** What a kubelet sets, or with protectKernelDefaults requires. */
export const kubeletKernelSettings: readonly KernelSetting[] = [
  // Requests are counted by the scheduler, so memory is given out without reserve.
  { name: "vm.overcommit_memory", value: 1 },
  // Running out of memory ends a process, not the node.
  { name: "vm.panic_on_oom", value: 0 },
  // A kernel in an undefined state restarts, after ten seconds.
  { name: "kernel.panic", value: 10 },
  { name: "kernel.panic_on_oops", value: 1 },
  // Runtimes take a key per container, 25 bytes each.
  { name: "kernel.keys.root_maxkeys", value: 1_000_000 },
  { name: "kernel.keys.root_maxbytes", value: 25_000_000 },
];

/** A setting as it was found: its text, or why it cannot be read. */
export type FoundSetting = { readonly text: string } | { readonly problem: string };

export interface KernelDifference extends KernelSetting {
  readonly found: FoundSetting;
}

/** The settings that are not as wanted, in their order; what cannot be read counts as different. */
export function kernelDifferences(
  wanted: readonly KernelSetting[],
  found: ReadonlyMap<string, FoundSetting>,
): readonly KernelDifference[] {
  return wanted.flatMap((setting) => {
    const seen = found.get(setting.name) ?? { problem: "it was not read" };
    if ("text" in seen && isValue(seen.text, setting.value)) return [];
    return [{ ...setting, found: seen }];
  });
}

/** What was found, for a message. */
export function foundText(found: FoundSetting): string {
  return "text" in found ? found.text.trim() : found.problem;
}

function isValue(text: string, value: number): boolean {
  const trimmed = text.trim();
  return trimmed !== "" && Number(trimmed) === value;
}
