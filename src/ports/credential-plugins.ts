export interface CredentialPluginCall {
  /** The program's name in the folder of credential providers. */
  readonly name: string;
  readonly args: readonly string[];
  /** Beside the agent's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** For its standard input. */
  readonly input: string;
}

/** The programs that hand out registry logins. */
export interface CredentialPlugins {
  /** Answers what the program printed. Rejects when it fails or takes too long, without a word of what it printed. */
  run(call: CredentialPluginCall, signal: AbortSignal): Promise<string>;
}
