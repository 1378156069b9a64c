export interface PullProgress {
  readonly doneBytes: number;
  readonly totalBytes: number;
}

/** Tells how far the runtime is with the images that it pulls. */
export interface PullProgressReader {
  /** Undefined while it fetches nothing of that repository, or does not say; rejects when it cannot be asked. */
  read(repository: string, signal: AbortSignal): Promise<PullProgress | undefined>;
}
