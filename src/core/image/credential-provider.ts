// Programs that hand out registry logins: their config file, what they are asked, and what they answer.
import { parseDuration } from "../../lib/duration.ts";
import { quoteText } from "../../lib/go-text.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { RegistryLogin } from "./docker-config.ts";
import { isAbsent, isObject, shown, texts, unknownFields } from "./provider-fields.ts";
import { isRegistryPattern, matchesRegistry } from "./registry-pattern.ts";
import {
  type AccountIdentity,
  parseTokenAttributes,
  type TokenAttributes,
} from "./token-attributes.ts";

export interface CredentialProvider {
  /** The program's name in the folder of providers. */
  readonly name: string;
  readonly matchImages: readonly string[];
  /** How long an answer holds that says nothing about it; 0 = not at all. */
  readonly defaultCacheMs: number;
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Undefined = it is asked for all pods alike. */
  readonly tokenAttributes?: TokenAttributes | undefined;
}

export interface CredentialAnswer {
  /** What the answer holds for: this repository, its registry, or everything. */
  readonly scope: "Image" | "Registry" | "Global";
  /** 0 = ask again each time. */
  readonly cacheMs: number;
  readonly logins: readonly RegistryLogin[];
}

const configVersions = ["v1", "v1beta1", "v1alpha1"].map((name) => `kubelet.config.k8s.io/${name}`);
const callGroup = "credentialprovider.kubelet.k8s.io";
const callVersions = ["v1", "v1beta1", "v1alpha1"].map((name) => `${callGroup}/${name}`);
const scopes = ["Image", "Registry", "Global"] as const;

/** Reads a CredentialProviderConfig; the errors name each field that is wrong. `noTokens`: why there are no service account tokens. */
export function parseCredentialProviders(
  document: unknown,
  noTokens: string | undefined,
): Result<readonly CredentialProvider[], readonly string[]> {
  if (!isObject(document)) return err(["it is not an object with providers"]);
  const errors = unknownFields(document, ["apiVersion", "kind", "providers"], "");
  const { apiVersion, kind, providers } = document;
  if (!configVersions.includes(String(apiVersion))) {
    errors.push(`apiVersion: ${shown(apiVersion)} is not one of ${configVersions.join(", ")}`);
  }
  if (kind !== "CredentialProviderConfig") {
    errors.push(`kind: ${shown(kind)} is not CredentialProviderConfig`);
  }
  if (!Array.isArray(providers) || providers.length === 0) {
    return err([...errors, "providers: at least one is needed"]);
  }
  const parsed = providers.map((provider: unknown, index) =>
    parseProvider(provider, { path: `providers[${index}]`, noTokens }, errors),
  );
  const names = new Set<string>();
  for (const [index, { name }] of parsed.entries()) {
    if (names.has(name)) {
      errors.push(`providers[${index}].name: ${quoteText(name)} is there already`);
    }
    names.add(name);
  }
  return errors.length > 0 ? err(errors) : ok(parsed);
}

export function isProviderOf({ matchImages }: CredentialProvider, repository: string): boolean {
  return matchImages.some((pattern) => matchesRegistry(pattern, repository));
}

/** What a provider reads from its standard input. */
export function credentialRequest(
  { apiVersion }: CredentialProvider,
  repository: string,
  identity: AccountIdentity | undefined,
): string {
  const { token, annotations = {} } = identity ?? {};
  const hasAnnotations = Object.keys(annotations).length > 0;
  return JSON.stringify({
    kind: "CredentialProviderRequest",
    apiVersion,
    image: repository,
    serviceAccountToken: token,
    serviceAccountAnnotations: hasAnnotations ? annotations : undefined,
  });
}

/** Whether the answer has the pod's token for a password. It would be kept for others, unless answers are kept by token. */
export function isEcho(
  { tokenAttributes }: CredentialProvider,
  { logins }: CredentialAnswer,
  identity: AccountIdentity | undefined,
): boolean {
  if (identity === undefined || tokenAttributes?.cacheType === "Token") return false;
  return logins.some(({ password }) => password === identity.token);
}

/** Reads a provider's answer. Errors say nothing of its values: they are secret. */
export function parseCredentialAnswer(
  provider: CredentialProvider,
  text: string,
): Result<CredentialAnswer, string> {
  const answer = parseJson(text);
  if (!isObject(answer)) return err("its answer is not a JSON object");
  if (answer["apiVersion"] !== provider.apiVersion) {
    return err(`its answer has another apiVersion than ${provider.apiVersion}`);
  }
  if (answer["kind"] !== "CredentialProviderResponse") {
    return err("its answer is not a CredentialProviderResponse");
  }
  const known = ["apiVersion", "kind", "cacheKeyType", "cacheDuration", "auth"];
  if (unknownFields(answer, known, "").length > 0) return err("its answer has unknown fields");
  const scope = scopes.find((each) => each === answer["cacheKeyType"]);
  if (scope === undefined)
    return err(`its answer's cacheKeyType is not one of ${scopes.join(", ")}`);
  const { cacheDuration } = answer;
  const cache =
    cacheDuration === undefined || cacheDuration === null
      ? ok(provider.defaultCacheMs)
      : parseDuration(typeof cacheDuration === "string" ? cacheDuration : "");
  // An answer may hold secrets anywhere: its text is not shown.
  if (!cache.ok) return err("its answer's cacheDuration is not a duration");
  const logins = parseLogins(answer["auth"] ?? {});
  return logins === undefined
    ? err("its answer's auth has an entry without username and password")
    : ok({ scope, cacheMs: cache.value, logins });
}

function parseProvider(
  value: unknown,
  { path, noTokens }: { readonly path: string; readonly noTokens: string | undefined },
  errors: string[],
): CredentialProvider {
  const fields = isObject(value) ? value : {};
  const known = [
    "name",
    "matchImages",
    "defaultCacheDuration",
    "apiVersion",
    "args",
    "env",
    "tokenAttributes",
  ];
  errors.push(...unknownFields(fields, known, `${path}.`));
  const { name = "", apiVersion = "", defaultCacheDuration } = fields;
  if (typeof name !== "string" || !/^(?!\.{0,2}$)[^/ ]+$/.test(name)) {
    errors.push(`${path}.name: ${shown(name)} is not the name of a program: no "/", no space`);
  }
  if (!callVersions.includes(String(apiVersion))) {
    errors.push(
      `${path}.apiVersion: ${shown(apiVersion)} is not one of ${callVersions.join(", ")}`,
    );
  }
  const matchImages = texts(fields["matchImages"], `${path}.matchImages`, errors);
  if (matchImages.length === 0) errors.push(`${path}.matchImages: at least one is needed`);
  for (const pattern of matchImages) {
    if (!isRegistryPattern(pattern)) {
      errors.push(`${path}.matchImages: ${quoteText(pattern)} is not a registry with a path`);
    }
  }
  const cache = parseDuration(typeof defaultCacheDuration === "string" ? defaultCacheDuration : "");
  if (!cache.ok || cache.value < 0) {
    errors.push(`${path}.defaultCacheDuration: give a duration of 0s or more, such as 10m`);
  }
  const hasTokens = !isAbsent(fields["tokenAttributes"]);
  const tokenPath = `${path}.tokenAttributes`;
  if (hasTokens && noTokens !== undefined) errors.push(`${tokenPath}: ${noTokens}`);
  const tokenAttributes =
    hasTokens && noTokens === undefined
      ? parseTokenAttributes(fields["tokenAttributes"], { path: tokenPath, apiVersion }, errors)
      : undefined;
  return {
    name: String(name),
    matchImages,
    defaultCacheMs: cache.ok ? cache.value : 0,
    apiVersion: String(apiVersion),
    args: texts(fields["args"], `${path}.args`, errors),
    env: variables(fields["env"], `${path}.env`, errors),
    tokenAttributes,
  };
}

function variables(value: unknown, path: string, errors: string[]): Record<string, string> {
  const env: Record<string, string> = {};
  if (isAbsent(value)) return env;
  const items: readonly unknown[] = Array.isArray(value) ? value : [undefined];
  for (const item of items) {
    const { name, value: text = "" } = isObject(item) ? item : {};
    if (typeof name !== "string" || typeof text !== "string") {
      errors.push(`${path}: must be a list of variables with name and value`);
      continue;
    }
    env[name] = text;
  }
  return env;
}

function parseLogins(auth: unknown): readonly RegistryLogin[] | undefined {
  if (!isObject(auth)) return undefined;
  const logins: RegistryLogin[] = [];
  for (const [address, entry] of Object.entries(auth)) {
    if (!isObject(entry)) return undefined;
    const { username, password } = entry;
    if (typeof username !== "string" || typeof password !== "string") return undefined;
    logins.push({ address, username, password });
  }
  return logins;
}

function parseJson(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}
