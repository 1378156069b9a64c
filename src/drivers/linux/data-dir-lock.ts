import { mkdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { SetupError } from "../../model/setup-error.ts";

/** A data folder that this process alone uses, until it releases it or ends in whatever way. */
export interface LockedDataDir {
  /** Without links. */
  readonly path: string;
  release(): Promise<void>;
}

/** Makes the folder if it is absent and locks it; throws, naming the owner, when another agent has it. */
export async function lockDataDir(dataDir: string): Promise<LockedDataDir> {
  if (!dataDir.startsWith("/") || /[,:\p{Cc}]/u.test(dataDir)) {
    throw new SetupError(
      `data folder ${JSON.stringify(dataDir)} cannot be used`,
      "give an absolute path without comma, colon and control characters",
    );
  }
  await mkdir(dataDir, { recursive: true, mode: 0o750 });
  const path = await realpath(dataDir);
  const { dev, ino } = await stat(path, { bigint: true });
  const pidFile = join(path, "agent.pid");
  // The kernel frees an abstract socket's name with its process: no stale lock is ever left to be judged.
  const server = await listen(`\0berth/${dev}/${ino}`).catch(async (error: unknown) => {
    const owner = (await readFile(pidFile, "utf8").catch(() => "unknown")).trim();
    throw new SetupError(
      `data folder ${path} is in use by the agent with pid ${owner}`,
      "stop that agent or choose another data folder",
      { cause: error },
    );
  });
  await writeFile(pidFile, `${process.pid}\n`, { mode: 0o644 });
  return {
    path,
    release: async () => {
      await rm(pidFile, { force: true });
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listen(name: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", reject);
    server.listen({ path: name }, () => resolve(server.unref()));
  });
}
