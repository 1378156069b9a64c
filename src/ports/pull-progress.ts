export interface PullProgress {
  readonly doneBytes: number;
  readonly totalBytes: number;
}

/** Reports the progress of the runtime's image pulls. */
export interface PullProgressReader {
  /** Undefined while it fetches nothing of that repository, or does not say; rejects when it cannot be asked. */
  read(repository: string, signal: AbortSignal): Promise<PullProgress | undefined>;
}
