// The settings of eviction and of the collection of unused images.

import type { KubeletConfiguration } from "../config/generated/kubelet-configuration.ts";
import { fileDefaultConfig } from "../config/legacy-defaults.ts";
import { parseThresholds } from "../core/eviction/parse-thresholds.ts";
import { type ImageGcPolicy, imageGcPolicyProblem } from "../core/image/image-gc.ts";
import { hasCriticalPriority, isCriticalPod } from "../core/resource/critical.ts";
import type { EvictionSettings } from "../engine/resources/eviction/eviction-settings.ts";
import { millisecondsOf } from "../lib/duration.ts";
import { SetupError } from "../lib/setup-error.ts";

/** Eviction as a kubelet's configuration has it. Throws a SetupError that names the field. */
export function kubeletEviction(
  config: KubeletConfiguration,
  { ignoresAllocatable }: { readonly ignoresAllocatable: boolean },
): EvictionSettings {
  const parsed = readThresholds(config, ignoresAllocatable);
  if (!parsed.ok) {
    throw new SetupError(
      `the eviction settings do not fit: ${parsed.error}`,
      "correct evictionHard, evictionSoft, evictionSoftGracePeriod or evictionMinimumReclaim",
    );
  }
  const images: ImageGcPolicy = {
    highThresholdPercent: config.imageGCHighThresholdPercent,
    lowThresholdPercent: config.imageGCLowThresholdPercent,
    minAgeMs: millisecondsOf(config.imageMinimumGCAge),
    maxAgeMs: millisecondsOf(config.imageMaximumGCAge),
  };
  const problem = imageGcPolicyProblem(images);
  if (problem !== undefined) {
    throw new SetupError(
      problem,
      "correct imageGCHighThresholdPercent or imageGCLowThresholdPercent",
    );
  }
  return {
    thresholds: parsed.value,
    policy: {
      pressureTransitionMs: millisecondsOf(config.evictionPressureTransitionPeriod),
      maxPodGraceSeconds: config.evictionMaxPodGracePeriod,
      localStorageIsolation: config.localStorageCapacityIsolation,
      isSpared: isCriticalPod,
    },
    images,
  };
}

function readThresholds(
  config: KubeletConfiguration,
  ignoresAllocatable: boolean,
): ReturnType<typeof parseThresholds> {
  return parseThresholds({
    evictionHard: config.evictionHard ?? {},
    evictionSoft: config.evictionSoft ?? {},
    evictionSoftGracePeriod: config.evictionSoftGracePeriod ?? {},
    evictionMinimumReclaim: config.evictionMinimumReclaim ?? {},
    enforceNodeAllocatable: ignoresAllocatable ? [] : (config.enforceNodeAllocatable ?? []),
  });
}

export interface EvictionOptions {
  /** Such as "memory.available<500Mi,nodefs.available<5%"; "none" = never; undefined = the kubelet's defaults. */
  readonly evictionHard?: string | undefined;
}

/**
 * A kubelet's defaults, but that pods from manifests are pods like any other: there are no others here. Throws a
 * SetupError that names the flag.
 */
export function parseEviction({ evictionHard }: EvictionOptions = {}): EvictionSettings {
  const defaults = fileDefaultConfig();
  const config =
    evictionHard === undefined
      ? defaults
      : { ...defaults, evictionHard: parseEvictionHard(evictionHard) };
  const thresholds = readThresholds(config, false);
  // All else is the default, so it can only be the flag.
  if (!thresholds.ok) throw new SetupError(`--eviction-hard: ${thresholds.error}`, limitHint);
  const setup = kubeletEviction(config, { ignoresAllocatable: false });
  return { ...setup, policy: { ...setup.policy, isSpared: hasCriticalPriority } };
}

const limitHint =
  "write limits as signal<value, such as memory.available<500Mi or nodefs.available<5%";

function parseEvictionHard(text: string): Readonly<Record<string, string>> {
  if (text === "none") return {};
  return Object.fromEntries(
    text.split(",").map((pair) => {
      const [signal = "", value = "", ...rest] = pair.split("<").map((part) => part.trim());
      if (signal !== "" && value !== "" && rest.length === 0) return [signal, value];
      throw new SetupError(`--eviction-hard: "${pair}" is not a limit`, limitHint);
    }),
  );
}
