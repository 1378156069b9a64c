import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { noLongerNeeded, withEither } from "../../lib/with-either.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { PodEvents } from "../../ports/pod-events.ts";

export interface OwnershipDeps {
  readonly foreignFiles: Pick<ForeignFiles, "changeOwnership">;
  readonly events: PodEvents;
  readonly clock: Clock;
}

/** A volume that a pod's group is to own. */
export interface OwnedVolume {
  readonly pod: Pod;
  readonly path: string;
  /** Undefined = nothing is changed. */
  readonly fsGroup: number | undefined;
  readonly fsGroupChangePolicy: string | undefined;
  readonly readOnly: boolean;
}

const firstReportMs = 30_000;
const reportMs = 60_000;

/** Gives a volume's files to the pod's group, and reports in events that it takes long. */
export async function setVolumeOwnership(
  deps: OwnershipDeps,
  { pod, path, fsGroup, fsGroupChangePolicy, readOnly }: OwnedVolume,
  signal: AbortSignal,
): Promise<Result<void, string>> {
  if (fsGroup === undefined) return ok(undefined);
  let processed = 0;
  const ownership = {
    groupId: fsGroup,
    readOnly,
    onlyOnMismatch: fsGroupChangePolicy === "OnRootMismatch",
    onProcessed: (files: number) => {
      processed = files;
    },
  };
  const ended = new AbortController();
  const reports = withEither([signal, ended.signal], (either) =>
    reportProgress(deps, { pod, path, processed: () => processed }, either),
  );
  try {
    await deps.foreignFiles.changeOwnership(path, ownership, signal);
    return ok(undefined);
  } catch (error) {
    signal.throwIfAborted();
    return err(errorText(error));
  } finally {
    ended.abort(noLongerNeeded);
    await reports;
  }
}

interface Progress {
  readonly pod: Pod;
  readonly path: string;
  readonly processed: () => number;
}

async function reportProgress(
  { events, clock }: OwnershipDeps,
  { pod, path, processed }: Progress,
  signal: AbortSignal,
): Promise<void> {
  const begin = path.indexOf(pod.metadata.uid);
  const shown = begin === -1 ? path : path.slice(begin);
  const report = (message: string): void =>
    events.record(pod, { type: "Warning", reason: "VolumePermissionChangeInProgress", message });
  try {
    await clock.sleep(firstReportMs, signal);
    report(
      `Setting volume ownership for ${shown} is taking longer than expected, consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods`,
    );
    for (;;) {
      await clock.sleep(reportMs, signal);
      report(`Setting volume ownership for ${shown}, processed ${processed()} files.`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
