/** Small histories on disk, one per key, each bounded by the driver: the oldest entries go first. */
export interface Journal {
  /** Returns at once; written in order, soon. */
  append(key: string, entry: unknown): void;
  /** Oldest first; entries that cannot be read (a torn last line) are left out. */
  read(key: string): Promise<readonly unknown[]>;
  remove(key: string): Promise<void>;
  /** The keys that have entries. */
  list(): Promise<readonly string[]>;
  /** Resolves when everything appended so far is written. */
  flush(): Promise<void>;
}
