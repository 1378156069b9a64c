import { chmod, lstat, unlink } from "node:fs/promises";
import type { Server } from "node:net";

/** What a kubelet's socket has: everybody may see it, root alone may connect. */
const socketMode = 0o755;

/**
 * Listens on a unix socket that other programs of the node know by its path. One that an earlier agent left there is
 * replaced; anything else stays, and is an error. Returns a function that closes the server and removes its socket.
 */
export async function listenOnUnixSocket(
  server: Server,
  path: string,
): Promise<() => Promise<void>> {
  await removeSocket(path);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
  server.on("error", () => undefined);
  await chmod(path, socketMode);
  // Node removes the socket itself.
  return () => new Promise((resolve) => server.close(() => resolve()));
}

async function removeSocket(path: string): Promise<void> {
  try {
    // Links are not followed: one could lead to the socket of another program.
    const found = await lstat(path);
    if (!found.isSocket()) throw new Error(`${path} is not a socket: move it away`);
    await unlink(path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
