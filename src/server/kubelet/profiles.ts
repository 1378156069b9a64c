// What the agent's thread spends its time and memory on, in the forms that the developer tools of browsers read.
import type { AgentCalls, ProfileKind } from "../../ports/agent-calls.ts";
import { type KubeletExchange, sendRefusal } from "./answers.ts";

const usualSeconds = 30;
const maxSeconds = 600;
const kinds: readonly ProfileKind[] = ["profile", "heap"];
const extensions: Readonly<Record<ProfileKind, string>> = {
  profile: "cpuprofile",
  heap: "heapprofile",
};
const index = `Profiles of this process, as V8 makes them; those of Go programs are not there.

/debug/pprof/profile?seconds=30   where its time goes: a .cpuprofile
/debug/pprof/heap?seconds=30      who allocates what stays in memory: a .heapprofile

Both open in the developer tools of Chrome and in editors. They name functions and lines, and hold no data.
`;

/** Answers one profile at a time: taking one slows the process down. */
export class Profiles {
  readonly #agent: AgentCalls;
  #isTaking = false;

  constructor(agent: AgentCalls) {
    this.#agent = agent;
  }

  async answer({ parameters, query, response, signal }: KubeletExchange): Promise<void> {
    const { subpath = "" } = parameters;
    if (subpath === "") {
      response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" });
      response.end(index);
      return;
    }
    const kind = kinds.find((each) => each === subpath);
    if (kind === undefined) {
      sendRefusal(response, 404, "Unknown profile: see /debug/pprof/ for those that there are");
      return;
    }
    const seconds = Number(query.get("seconds")?.at(0) ?? usualSeconds);
    if (!(seconds > 0 && seconds <= maxSeconds)) {
      sendRefusal(response, 400, `seconds must be more than 0 and at most ${maxSeconds}`);
      return;
    }
    if (this.#isTaking) {
      sendRefusal(response, 500, "Could not enable profiling: a profile is being taken already");
      return;
    }
    this.#isTaking = true;
    try {
      const profile = await this.#agent.takeProfile({ kind, durationMs: seconds * 1000 }, signal);
      response.writeHead(200, {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": `attachment; filename="${kind}.${extensions[kind]}"`,
        "X-Content-Type-Options": "nosniff",
      });
      response.end(profile);
    } finally {
      this.#isTaking = false;
    }
  }
}
