import type { PlanAgent } from "../../app/rehearse-manifest.ts";
import type { AgentClient } from "../agent-client.ts";
import type { Command } from "../command.ts";
import { agentClient, chooseDataDir, dataDirFlag, onlyFilename } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { CliError, exitCodes, usageError } from "../exit.ts";
import { list, text } from "../flags.ts";
import { painter } from "../output/colour.ts";
import { isAccepted, renderPlan } from "../plan/render-plan.ts";

const usage = "plan -f PATH [flags]";

export const planCommand: Command = defineCommand({
  name: "plan",
  usage,
  summary: "Show what would be done with a manifest here, without doing it.",
  details:
    "Shows for each document whether it is accepted, or what is wrong with it and where; which fields\n" +
    "are filled in; and the steps that start its pod. Needs neither the agent nor root; an agent that\n" +
    "runs is asked whether it would take the pod now, and which CPUs, memory and devices it would hand out.",
  examples: ["berth plan -f web.yaml", "berth plan -f ./pods", "berth plan -f web.yaml -o json"],
  flags: {
    filename: list("PATH", "Manifest, or folder of manifests.", "f"),
    output: text("FORMAT", "json.", { short: "o", choices: ["json"] }),
    "node-name": text("NAME", "Name of this node (default the host name)."),
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, positionals, terminal, signal }) => {
    const path = onlyFilename(flags.filename);
    if (path === undefined || positionals.length > 0) {
      throw usageError(`say which manifest with -f: berth ${usage}`);
    }
    const { planManifest } = await import("../../app/plan-manifest.ts");
    const { rehearseManifest } = await import("../../app/rehearse-manifest.ts");
    const agent = await runningAgent(agentClient(flags["data-dir"], terminal), signal);
    const planned = await planManifest({
      path,
      dataDir: chooseDataDir(flags["data-dir"], terminal),
      nodeName: flags["node-name"] ?? agent?.nodeName,
    });
    const plan = await rehearseManifest(planned, agent);
    terminal.out(
      flags.output === "json"
        ? `${JSON.stringify(plan, null, 4)}\n`
        : renderPlan(plan, painter(terminal.colours)),
    );
    return isAccepted(plan) ? exitCodes.ok : exitCodes.failed;
  },
});

/** Undefined where none runs, or none that this user may ask. */
async function runningAgent(
  client: AgentClient,
  signal: AbortSignal,
): Promise<(PlanAgent & { readonly nodeName: string }) | undefined> {
  try {
    const { nodeName } = await client.readInfo(signal);
    return { nodeName, rehearse: (pods) => client.rehearse(pods, signal) };
  } catch (error) {
    if (error instanceof CliError && error.exitCode === exitCodes.agentUnreachable)
      return undefined;
    throw error;
  }
}
