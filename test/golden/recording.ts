import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type {
  ConfigMap,
  PodSpec,
  PodStatus,
  Secret,
} from "../../src/model/generated/kubernetes.ts";

/** A value as JSON knows it; messages leave out what has proto3's default. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

/** One CRI call of the recorded kubelet. Times are seconds since the scenario began. */
export interface RecordedCall {
  readonly t: number;
  readonly te: number;
  readonly method: string;
  /** The deadline, rounded to seconds. */
  readonly timeoutMs?: number;
  readonly request: Json;
  readonly response?: Json;
  readonly error?: { readonly code: number; readonly message: string };
}

interface RecordedMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
}

/** A pod as the API server showed it. */
export interface RecordedPod {
  readonly kind: "Pod";
  readonly metadata: RecordedMetadata;
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

type RecordedManifest =
  | RecordedPod
  | (ConfigMap & { readonly kind: "ConfigMap" })
  | (Secret & { readonly kind: "Secret" })
  | { readonly kind: "Service" | "RuntimeClass" };

export interface RecordedAction {
  readonly t: number;
  readonly action: string;
}

/** What a Go kubelet did in one scenario. */
export interface Recording {
  readonly scenario: string;
  /** As sent to the API server, or as written into the manifest folder. */
  readonly manifests: readonly RecordedManifest[];
  readonly actions: readonly RecordedAction[];
  readonly cri: readonly RecordedCall[];
  readonly podSnapshots: readonly { readonly when: string; readonly pod: RecordedPod }[];
}

/** Reads test/golden/recordings/NAME.json.gz, from the project's folder. */
export function loadRecording(name: string): Recording {
  const path = `test/golden/recordings/${name}.json.gz`;
  return JSON.parse(gunzipSync(readFileSync(path)).toString("utf8")) as Recording;
}
