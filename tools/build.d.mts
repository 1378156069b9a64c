export interface BuildOptions {
  readonly root: string;
  readonly outdir: string;
  readonly builtAs: string;
  readonly interpreter: string;
  readonly sourcemap: boolean;
}

export function buildProgram(options: BuildOptions): Promise<readonly string[]>;
