export interface BuiltPage {
  /** By their paths below the folder of the page. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly sources: readonly string[];
}

export function bundlePage(root: string): Promise<BuiltPage>;
