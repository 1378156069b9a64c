import type { CheckResult } from "../../model/check-result.ts";
import type { Command } from "../command.ts";
import { chooseDataDir, dataDirFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes } from "../exit.ts";
import { text } from "../flags.ts";
import { type Paint, painter, printable } from "../output/colour.ts";
import { alignColumns } from "../output/table.ts";

export const checkCommand: Command = defineCommand({
  name: "check",
  usage: "check [flags]",
  summary: "Look whether Berth can run here, and say what to do where it cannot.",
  details: "Looks at the machine, and at the runtime where one is running. Changes nothing.",
  examples: [
    "berth check",
    "berth check --runtime-endpoint unix:///run/containerd/containerd.sock",
    "berth check --config /var/lib/kubelet/config.yaml",
    "berth check -o json",
  ],
  flags: {
    output: text("FORMAT", "json.", { short: "o", choices: ["json"] }),
    "runtime-endpoint": text("URL", "Check this CRI socket instead of what Berth's own needs."),
    config: text("FILE", "Also check a kubelet's configuration file, and the runtime it names."),
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, terminal, signal }) => {
    const dataDir = chooseDataDir(flags["data-dir"], terminal);
    const { checkMachine } = await import("../../app/check.ts");
    const { checkKubeletConfig } = await import("../../app/check-config.ts");
    const config = flags.config === undefined ? undefined : checkKubeletConfig(flags.config);
    const runtimeEndpoint = flags["runtime-endpoint"] ?? config?.runtimeEndpoint;
    const machine = await checkMachine({ dataDir, runtimeEndpoint }, signal);
    const results = [...machine, ...(config?.results ?? [])];
    terminal.out(
      flags.output === "json"
        ? `${JSON.stringify(results, null, 4)}\n`
        : renderChecks(results, painter(terminal.colours)),
    );
    return results.some(({ status }) => status === "failed") ? exitCodes.failed : exitCodes.ok;
  },
});

/** A line per check, and how to mend it below where there is something to mend. */
export function renderChecks(results: readonly CheckResult[], paint: Paint): string {
  const colours = { ok: "green", warning: "yellow", failed: "red" } as const;
  const rows = alignColumns(
    results.map(({ name, status, found }) => [status, name, printable(found)]),
  );
  const lines = results.flatMap(({ status, fix }, index) => {
    const row = rows[index] ?? "";
    const painted = paint(colours[status], status) + row.slice(status.length);
    return fix === undefined ? [painted] : [painted, `          fix: ${fix}`];
  });
  const failures = results.filter(({ status }) => status === "failed").length;
  const verdict =
    failures === 0
      ? "Berth can run here."
      : `Berth cannot run here: ${failures} of ${results.length} checks failed.`;
  return `${lines.join("\n")}\n\n${verdict}\n`;
}
