// The lock by which two kubelets of a machine hand over to each other, beside that of the root folder.

import { holdLockFile, type LockFile } from "../drivers/linux/lock-file.ts";
import { SetupError } from "../lib/setup-error.ts";
import { sleep } from "../lib/timers.ts";
import { withEither } from "../lib/with-either.ts";
import type { Log } from "../ports/log.ts";
import type { KubeletSetup } from "./kubelet-setup.ts";

const lookMs = 1_000;

/** Does work while the lock of --lock-file is held; with --exit-on-lock-contention until another process waits for it. */
export async function withLockFile(
  { settings }: Pick<KubeletSetup, "settings">,
  log: Log,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const path = settings.get("lock-file") ?? "";
  const givesWay = settings.get("exit-on-lock-contention") === "true";
  if (path === "") {
    if (!givesWay) return work(signal);
    throw new SetupError(
      "cannot exit on lock file contention: no lock file specified",
      "set --lock-file",
    );
  }
  log.info("waiting for the lock file", { path });
  const lock = await holdLockFile(path, signal);
  const contended = new AbortController();
  const done = new AbortController();
  const watching = givesWay
    ? watch(lock, done.signal, () => {
        log.info("another process wants the lock file, ending", { path });
        contended.abort();
      })
    : Promise.resolve();
  try {
    await withEither([signal, contended.signal], work);
  } finally {
    done.abort();
    await watching;
    lock.release();
  }
}

async function watch(lock: LockFile, until: AbortSignal, onWanted: () => void): Promise<void> {
  while (!until.aborted) {
    if (lock.isWanted()) {
      onWanted();
      return;
    }
    await sleep(lookMs, until).catch(() => undefined);
  }
}
