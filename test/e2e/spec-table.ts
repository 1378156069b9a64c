import type { SpecResult } from "./run-group.ts";

/** By the name of the group. */
export type AgentResults = Readonly<Record<string, readonly SpecResult[]>>;

/** Specs that pass with the kubelet and fail with Berth. */
export function worseSpecs(results: ReadonlyMap<string, AgentResults>): readonly string[] {
  const failed = namesOf(results.get("berth"), "failed");
  return namesOf(results.get("kubelet"), "passed").filter((name) => failed.includes(name));
}

/** A table in Markdown of how many specs passed, then every spec that failed. */
export function resultsTable(results: ReadonlyMap<string, AgentResults>): string {
  const agents = [...results.keys()];
  const groups = [...new Set([...results.values()].flatMap((each) => Object.keys(each)))];
  const rows = groups.map((group) => {
    const cells = agents.map((agent) => cell(results.get(agent)?.[group] ?? []));
    return `| ${[group, ...cells].join(" | ")} |`;
  });
  return [
    `| specs | ${agents.join(" | ")} |`,
    `| ${["---", ...agents.map(() => "---")].join(" | ")} |`,
    ...rows,
    "",
    ...failures(results),
  ].join("\n");
}

/** Those that skip themselves do not apply to the kind of volume. */
function cell(results: readonly SpecResult[]): string {
  const passed = results.filter(({ state }) => state === "passed").length;
  const failed = results.filter(({ state }) => state === "failed").length;
  return `${passed} of ${passed + failed}`;
}

function failures(results: ReadonlyMap<string, AgentResults>): readonly string[] {
  return [...results].flatMap(([agent, groups]) =>
    Object.values(groups)
      .flat()
      .filter(({ state }) => state === "failed")
      .map(({ name, message }) => `- ${agent}: ${name}: ${message.split("\n", 1)[0]}`),
  );
}

function namesOf(results: AgentResults | undefined, state: SpecResult["state"]): readonly string[] {
  const all = Object.values(results ?? {}).flat();
  return all.filter((result) => result.state === state).map(({ name }) => name);
}
