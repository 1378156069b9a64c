import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentView } from "../../src/ports/agent-view.ts";
import { runLocalApi } from "../../src/server/local-api.ts";

export interface ServedApi {
  readonly dataDir: string;
  readonly socketPath: string;
  stop(): Promise<void>;
}

/** The real local API over a temporary data dir, answering from a view that a test holds. */
export async function serveApi(view: AgentView): Promise<ServedApi> {
  const dataDir = await mkdtemp(join(tmpdir(), "berth-api-"));
  const socketPath = join(dataDir, "berth.sock");
  const stopping = new AbortController();
  const clock = { nowMs: () => Date.now() };
  let served: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    served = runLocalApi(view, { socketPath, clock }, resolve, stopping.signal);
    served.catch(reject);
  });
  return {
    dataDir,
    socketPath,
    stop: async () => {
      stopping.abort();
      await served;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
