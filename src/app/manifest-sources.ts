import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { createFileSource } from "../drivers/manifest/file-source.ts";
import { parseDuration } from "../lib/duration.ts";
import { SetupError } from "../model/setup-error.ts";
import type { PodSource } from "../ports/pod-source.ts";

export interface SourceOptions {
  /** A folder of manifests, or one manifest. */
  readonly manifests?: string | undefined;
  readonly manifestUrl?: string | undefined;
  /** NAME:VALUE, several separated by commas. */
  readonly manifestUrlHeader?: string | undefined;
  readonly httpCheckFrequency?: string | undefined;
  readonly fileCheckFrequency?: string | undefined;
}

const defaultFrequency = "20s";

/** The sources of `berth up`. A folder that is not named is made; one that is named must be there or come. */
export function createSources(
  options: SourceOptions,
  nodeName: string,
  defaultFolder: string,
): readonly PodSource[] {
  if (options.manifests === undefined) mkdirSync(defaultFolder, { recursive: true, mode: 0o755 });
  return [
    createFileSource({
      path: resolve(options.manifests ?? defaultFolder),
      nodeName,
      mode: "up",
      rescanMs: frequencyMs("--file-check-frequency", options.fileCheckFrequency),
    }),
  ];
}

function frequencyMs(flag: string, text: string = defaultFrequency): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0) {
    throw new SetupError(`${flag} "${text}" is no duration`, "give one such as 20s");
  }
  return ms;
}
