import type { LogRotationSettings } from "../engine/node/log-rotator.ts";
import { SetupError } from "../lib/setup-error.ts";
import { parseQuantity, quantityValue } from "../model/quantity.ts";

export interface LogRotationOptions {
  /** A quantity such as 10Mi; below zero no log is rotated. */
  readonly containerLogMaxSize?: string | undefined;
  readonly containerLogMaxFiles?: string | undefined;
}

/** A kubelet's own. */
export const defaultLogRotation: LogRotationSettings = {
  maxSizeBytes: 10 * 1024 * 1024,
  maxFiles: 5,
  intervalMs: 10_000,
  workers: 1,
};

/** Reads what the user wants of log rotation; what was left out is as a kubelet has it. */
export function parseLogRotation(options: LogRotationOptions): LogRotationSettings {
  const { containerLogMaxSize, containerLogMaxFiles } = options;
  return {
    ...defaultLogRotation,
    ...(containerLogMaxSize === undefined ? {} : { maxSizeBytes: parseSize(containerLogMaxSize) }),
    ...(containerLogMaxFiles === undefined ? {} : { maxFiles: parseCount(containerLogMaxFiles) }),
  };
}

function parseSize(text: string): number {
  const quantity = parseQuantity(text);
  if (quantity.ok) return Number(quantityValue(quantity.value));
  throw new SetupError(`--container-log-max-size "${text}" is not a size`, "give one such as 10Mi");
}

function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count > 1) return count;
  throw new SetupError(
    `--container-log-max-files "${text}" must be a whole number greater than 1`,
    "give one such as 5",
  );
}
