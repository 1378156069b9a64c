import { spawn } from "node:child_process";
import { SetupError } from "../../lib/setup-error.ts";

const conflictCode = 1;

interface FlockOptions {
  /** For messages. */
  readonly path: string;
  /** Whether to wait for another holder, until `signal` aborts. */
  readonly waits: boolean;
}

/**
 * Node has no flock(2). The lock belongs to the open file, which a child shares: the program locks it and ends, and the lock stays
 * with this process. False when another process holds it.
 */
export function flock(
  fd: number,
  { path, waits }: FlockOptions,
  signal?: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn("flock", ["-x", ...(waits ? [] : ["-n"]), "3"], {
      stdio: ["ignore", "ignore", "ignore", fd],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
      ...(signal === undefined ? {} : { signal }),
    });
    child.once("error", (cause) => {
      if (signal?.aborted === true) {
        reject(cause);
        return;
      }
      reject(
        new SetupError(
          `cannot lock ${path}: the program flock cannot be run (${cause.message})`,
          "install util-linux",
          { cause },
        ),
      );
    });
    child.once("exit", (code, killedBy) => {
      if (code === 0) resolve(true);
      else if (code === conflictCode) resolve(false);
      else reject(new Error(`cannot lock ${path}: flock ended with ${killedBy ?? code}`));
    });
  });
}
