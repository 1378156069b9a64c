import type { CheckResult } from "../../lib/check-result.ts";
import type { Command } from "../command.ts";
import { chooseDataDir, dataDirFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { text, toggle } from "../flags.ts";
import { renderCis } from "../output/cis-text.ts";
import { type Paint, painter, printable } from "../output/colour.ts";
import { alignColumns } from "../output/table.ts";
import type { Terminal } from "../terminal.ts";

export const checkCommand: Command = defineCommand({
  name: "check",
  usage: "check [flags] [-- kubelet's flags]",
  summary: "Check whether Berth can run here, and say what to do where it cannot.",
  details: [
    "Checks the machine, and the runtime where one is running. Changes nothing.",
    "With --cis it runs the node section of the CIS Kubernetes Benchmark instead: on `berth kubelet` with the flags",
    "after --, or else on `berth up` with its defaults.",
  ].join("\n"),
  examples: [
    "berth check",
    "berth check --runtime-endpoint unix:///run/containerd/containerd.sock",
    "berth check --config /var/lib/kubelet/config.yaml",
    "berth check -o json",
    "berth check --cis --config /var/lib/kubelet/config.yaml",
    "berth check --cis -- --config /var/lib/kubelet/config.yaml --kubeconfig /etc/kubernetes/kubelet.conf",
  ],
  flags: {
    output: text("FORMAT", "json.", { short: "o", choices: ["json"] }),
    "runtime-endpoint": text("URL", "Check this CRI socket instead of what Berth's own needs."),
    config: text("FILE", "Also check a kubelet's configuration file, and the runtime it names."),
    cis: toggle("Run the node section of the CIS Kubernetes Benchmark instead."),
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, rest, terminal, signal }) => {
    const asJson = flags.output === "json";
    if (flags.cis) return runCis(flags.config, rest, asJson, terminal);
    if (rest !== undefined) throw usageError("what follows -- are a kubelet's flags, for --cis");
    const dataDir = chooseDataDir(flags["data-dir"], terminal);
    const { checkMachine } = await import("../../app/check.ts");
    const { checkKubeletConfig } = await import("../../app/check-config.ts");
    const config = flags.config === undefined ? undefined : checkKubeletConfig(flags.config);
    const runtimeEndpoint = flags["runtime-endpoint"] ?? config?.runtimeEndpoint;
    const machine = await checkMachine({ dataDir, runtimeEndpoint }, signal);
    const results = [...machine, ...(config?.results ?? [])];
    terminal.out(
      asJson
        ? `${JSON.stringify(results, null, 4)}\n`
        : renderChecks(results, painter(terminal.colours)),
    );
    return results.some(({ status }) => status === "failed") ? exitCodes.failed : exitCodes.ok;
  },
});

async function runCis(
  config: string | undefined,
  rest: readonly string[] | undefined,
  asJson: boolean,
  terminal: Terminal,
): Promise<number> {
  const { checkCis } = await import("../../app/check-cis.ts");
  const given = [...(config === undefined ? [] : ["--config", config]), ...(rest ?? [])];
  const results = checkCis(config === undefined && rest === undefined ? undefined : given);
  terminal.out(
    asJson
      ? `${JSON.stringify(results, null, 4)}\n`
      : renderCis(results, painter(terminal.colours)),
  );
  return results.some(({ status }) => status === "fail") ? exitCodes.failed : exitCodes.ok;
}

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
