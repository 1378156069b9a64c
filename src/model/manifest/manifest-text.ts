/** A manifest as it was read. */
export interface ManifestText {
  readonly path: string;
  readonly text: string;
}

export const maxManifestBytes: number = 10 * 1024 * 1024;
export const tooLarge: string = `larger than ${maxManifestBytes} bytes`;
