import { chmod, mkdir, rename, rm, stat, unlink } from "node:fs/promises";
import { connect, type Server } from "node:net";
import { dirname, join } from "node:path";

/** What the kernel takes as the path of a socket, less the ending zero. */
const longestSocketPath = 107;

/** Where a socket is bound before it is moved to its path. An agent that was killed may have left it. */
export function bindingFolder(path: string): string {
  return join(dirname(path), ".berth.s");
}

/**
 * Listens on a unix socket that only its owner can open, from its first moment on. A socket
 * without a listener is replaced. The data folder is locked: no other agent binds there. Returns a function that removes the socket again.
 */
export async function listenOnSocket(server: Server, path: string): Promise<() => Promise<void>> {
  // Bound in a folder that no other user can enter, and moved when its mode is right.
  const folder = bindingFolder(path);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const temporary = join(folder, "s");
  try {
    const longest = Math.max(path.length, temporary.length);
    if (longest > longestSocketPath) {
      throw new Error(`${path}: too long for a socket; choose a data dir with a shorter path`);
    }
    if (await isAnswered(path)) {
      throw new Error(`${path}: another agent is running on this data dir`);
    }
    await listen(server, temporary);
    await chmod(temporary, 0o600);
    await rename(temporary, path);
  } catch (error) {
    server.close();
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const { ino } = await stat(path);
  return () => removeOwn(path, ino);
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

/** A successor may already have put its own there. */
async function removeOwn(path: string, inode: number): Promise<void> {
  try {
    if ((await stat(path)).ino === inode) await unlink(path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
