import { execFile } from "node:child_process";
import { errorText } from "../../lib/error-text.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { parseTime } from "../../lib/time.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { checkKeyPair } from "./key-pair-files.ts";
import type { ExecPlugin } from "./kubeconfig.ts";

const maxOutputBytes = 1024 * 1024;
const maxComplaint = 500;

/** What a plugin gave out. */
export interface PluginCredentials {
  readonly token?: string | undefined;
  readonly pair?: KeyPair | undefined;
  readonly expiresAtMs?: number | undefined;
}

export interface ExecPluginOptions {
  readonly plugin: ExecPlugin;
  /** What a plugin gets to know about the cluster when it asks for it. */
  readonly cluster: unknown;
  readonly timeoutMs: number;
  readonly metrics: Metrics;
}

/** Credentials that a program gives out, kept until they expire. One call at a time serves all who wait for it. */
export class ExecPluginCredentials {
  readonly #options: ExecPluginOptions;
  #current: PluginCredentials | undefined;
  #running: Promise<PluginCredentials> | undefined;

  constructor(options: ExecPluginOptions) {
    this.#options = options;
  }

  async current(signal: AbortSignal): Promise<PluginCredentials> {
    const kept = this.#current;
    const isExpired = (kept?.expiresAtMs ?? Number.POSITIVE_INFINITY) < Date.now();
    if (kept !== undefined && !isExpired) return kept;
    return this.#call(signal);
  }

  /** Asks the program again, unless that was done since `refused` was given out. */
  async replace(refused: PluginCredentials, signal: AbortSignal): Promise<void> {
    if (this.#current === refused) await this.#call(signal);
  }

  #call(signal: AbortSignal): Promise<PluginCredentials> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return untilAborted(this.#running, signal);
  }

  async #run(): Promise<PluginCredentials> {
    const { plugin } = this.#options;
    try {
      const output = await runPlugin(this.#options);
      this.#current = parseCredentials(output, plugin.apiVersion);
      return this.#current;
    } catch (error) {
      const problem = `the exec plugin ${plugin.command} gave no credentials: ${errorText(error)}`;
      throw new Error(problem, { cause: error });
    }
  }
}

function runPlugin({ plugin, cluster, timeoutMs, metrics }: ExecPluginOptions): Promise<string> {
  const spec = { ...(plugin.provideClusterInfo ? { cluster } : {}), interactive: false };
  const info = { kind: "ExecCredential", apiVersion: plugin.apiVersion, spec };
  const env = { ...process.env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  const count = (status: string, code: number): void => {
    const labels = { call_status: status, code: String(code) };
    metrics.increment("rest_client_exec_plugin_call_total", labels);
  };
  return new Promise((resolve, reject) => {
    const child = execFile(
      plugin.command,
      [...plugin.args],
      { env, timeout: timeoutMs, killSignal: "SIGKILL", maxBuffer: maxOutputBytes },
      (error, stdout, stderr) => {
        if (error === null) {
          count("no_error", 0);
          resolve(stdout);
          return;
        }
        const code = typeof error.code === "number" ? error.code : 1;
        const isMissing = String(error.code) === "ENOENT";
        count(isMissing ? "plugin_not_found_error" : "plugin_execution_error", code);
        const hint = isMissing && plugin.installHint !== "" ? `; ${plugin.installHint}` : "";
        reject(new Error(`${failureText(error, stderr, timeoutMs)}${hint}`));
      },
    );
    child.stdin?.on("error", () => undefined);
    child.stdin?.end();
  });
}

// What the program printed to its standard output is secret; Node's own words would not have it, but the command line.
function failureText(
  error: Error & { readonly code?: unknown; readonly killed?: boolean },
  stderr: string,
  timeoutMs: number,
): string {
  if (error.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") return "it printed too much";
  if (error.killed === true) return `it took longer than ${timeoutMs / 1000} s`;
  if (typeof error.code === "number") {
    return `it failed with exit code ${error.code}: ${stderr.trim().slice(0, maxComplaint)}`;
  }
  return `it could not be run (${String(error.code)})`;
}

interface CredentialFields {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly status?: {
    readonly token?: unknown;
    readonly clientCertificateData?: unknown;
    readonly clientKeyData?: unknown;
    readonly expirationTimestamp?: unknown;
  } | null;
}

function parseCredentials(output: string, apiVersion: string): PluginCredentials {
  const fields = parseObject(output);
  if (fields.kind !== "ExecCredential" || fields.apiVersion !== apiVersion) {
    throw new Error(`it did not print an ExecCredential of ${apiVersion}`);
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = fields.status ?? {};
  const certPem = optionalText(clientCertificateData, "clientCertificateData");
  const keyPem = optionalText(clientKeyData, "clientKeyData");
  const bearer = optionalText(token, "token");
  if ((certPem === undefined) !== (keyPem === undefined)) {
    throw new Error("it printed a certificate without its key, or a key without its certificate");
  }
  if (bearer === undefined && certPem === undefined) {
    throw new Error("it printed neither a token nor a certificate");
  }
  const pair = certPem === undefined || keyPem === undefined ? undefined : { certPem, keyPem };
  if (pair !== undefined) checkKeyPair(pair);
  const expires = optionalText(expirationTimestamp, "expirationTimestamp");
  const expiresAtMs = expires === undefined ? undefined : parseTime(expires);
  if (expires !== undefined && expiresAtMs === undefined) {
    throw new Error("it printed an expirationTimestamp that is not a time");
  }
  return { token: bearer, pair, expiresAtMs };
}

function parseObject(output: string): CredentialFields {
  try {
    const value: unknown = parseJsonText(output);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Reported below: Node's own message quotes the text.
  }
  throw new Error("it printed something that is not a JSON object");
}

function optionalText(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw new Error(`it printed a ${field} that is not a string`);
}
