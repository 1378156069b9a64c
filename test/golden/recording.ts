import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type {
  ConfigMap,
  PodSpec,
  PodStatus,
  RuntimeClass,
  Secret,
  Service,
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

/** One request of the recorded kubelet to its API server. */
export interface RecordedRequest {
  readonly t: number;
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  /** Protobuf is kept as { _raw_base64 }. */
  readonly body?: Json;
  readonly status: number;
  readonly watch?: boolean;
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

export type RecordedManifest =
  | RecordedPod
  | (ConfigMap & { readonly kind: "ConfigMap" })
  | (Secret & { readonly kind: "Secret" })
  | (Service & { readonly kind: "Service" })
  | (RuntimeClass & { readonly kind: "RuntimeClass" });

export interface RecordedAction {
  readonly t: number;
  readonly action: string;
}

/** A pod as the recording's driver read it. */
interface PodSnapshot {
  readonly when: string;
  readonly pod: RecordedPod;
}

/** What a Go kubelet did in one scenario. */
export interface Recording {
  readonly scenario: string;
  /** As sent to the API server, or as written into the manifest folder. */
  readonly manifests: readonly RecordedManifest[];
  readonly actions: readonly RecordedAction[];
  readonly cri: readonly RecordedCall[];
  readonly api: readonly RecordedRequest[];
  /** Of all components, as the API server had them in the end. */
  readonly events: readonly { readonly reason: string; readonly name: string }[];
  readonly podSnapshots: readonly PodSnapshot[];
}

/** Reads test/golden/recordings/NAME.json.gz, from the project's folder. */
export function loadRecording(name: string): Recording {
  const path = `test/golden/recordings/${name}.json.gz`;
  return JSON.parse(gunzipSync(readFileSync(path)).toString("utf8")) as Recording;
}
