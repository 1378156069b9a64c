import { spawn } from "node:child_process";
import { podNames } from "../api-pods.ts";
import { BenchAgent } from "../bench-agent.ts";
import { type BenchCase, recordAgent, recordFloor } from "../case-context.ts";
import { endPods, startPods } from "../idle-pods.ts";
import type { Metric } from "../results.ts";

const version: Metric = { id: "command-version", case: "h", title: "--version", unit: "ms" };
const getPods: Metric = { id: "command-get-pods", case: "h", title: "berth get pods", unit: "ms" };
const listedPods = 10;

/** (h) How long commands take; only Berth has commands of its own. */
export const commandCase: BenchCase = {
  needsCluster: false,
  rounds: () => 1,
  measureFloor: async (context) => {
    for (let index = 0; index < context.sizes.commands; index += 1) {
      const ms = await timeCommand([process.execPath, "-e", "0"]);
      recordFloor(context, version, ms);
      recordFloor(context, getPods, ms);
    }
  },
  measure: async (context, contender) => {
    const { world, sizes } = context;
    const [program, ...args] = contender.command;
    const agent = await BenchAgent.create(world, contender);
    const own = args.indexOf("kubelet");
    const isBerth = contender.name === "berth" && own > 0;
    const names = podNames("listed", isBerth ? Math.min(listedPods, sizes.restartPods) : 0);
    if (isBerth) {
      await agent.startReady();
      await startPods(world, agent, names);
    }
    for (let index = 0; index < sizes.commands; index += 1) {
      const before = isBerth ? args.slice(0, own) : args;
      recordAgent(context, version, agent, await timeCommand([program, ...before, "--version"]));
      if (!isBerth) continue;
      const list = [program, ...before, "get", "pods", "--data-dir", agent.rootDir] as const;
      recordAgent(context, getPods, agent, await timeCommand(list));
    }
    if (isBerth) {
      await endPods(world, agent, names);
      await agent.stop();
    }
  },
};

function timeCommand([program, ...args]: readonly [string, ...string[]]): Promise<number> {
  const startedMs = performance.now();
  const child = spawn(program, args, { stdio: "ignore" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(performance.now() - startedMs);
      else reject(new Error(`${program} ${args.join(" ")} ended with ${code}`));
    });
  });
}
