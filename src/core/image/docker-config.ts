// Registry credentials as Docker's config files, and the secrets made of them, hold them.
import { decodeBase64 } from "../../lib/base64.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { joinPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { decodeUtf8 } from "../../lib/utf8.ts";
import type { Secret } from "../../model/generated/kubernetes.ts";

/** A login for everything at an address: a registry, or repositories of one. */
export interface RegistryLogin {
  readonly address: string;
  readonly username: string;
  readonly password: string;
  readonly email?: string | undefined;
}

/** A file that may hold the logins that a whole node has. */
export interface DockerConfigFile {
  readonly path: string;
  readonly format: "json" | "legacy";
}

/** Where a kubelet looks for them, the first that can be used counts. */
export function dockerConfigFiles(folders: {
  /** The kubelet's root folder. */
  readonly root: string;
  readonly working: string;
  readonly home: string;
}): readonly DockerConfigFile[] {
  const { root, working, home } = folders;
  const json = [root, working, joinPath(home, ".docker"), "/.docker"];
  return [
    ...json.map((folder) => ({ path: joinPath(folder, "config.json"), format: "json" as const })),
    ...[root, working, home, "/"].map((folder) => ({
      path: joinPath(folder, ".dockercfg"),
      format: "legacy" as const,
    })),
  ];
}

/** The logins in such a file. An error names what is wrong, and never what the file says. */
export function dockerConfigLogins(
  format: DockerConfigFile["format"],
  text: string,
): Result<readonly RegistryLogin[], string> {
  return format === "json" ? parseDockerConfigJson(text) : parseDockerCfg(text);
}

const secretKinds = [
  {
    type: "kubernetes.io/dockerconfigjson",
    key: ".dockerconfigjson",
    parse: parseDockerConfigJson,
  },
  { type: "kubernetes.io/dockercfg", key: ".dockercfg", parse: parseDockerCfg },
];

/**
 * The logins in a pull secret; none when it is of another type. An error names what is wrong, and never what the
 * secret says.
 */
export function secretLogins(secret: Secret): Result<readonly RegistryLogin[], string> {
  const kind = secretKinds.find(({ type }) => type === secret.type);
  const { data = {} } = secret;
  const encoded = kind !== undefined && Object.hasOwn(data, kind.key) ? (data[kind.key] ?? "") : "";
  if (kind === undefined || encoded === "") return ok([]);
  const logins = kind.parse(decodeUtf8(decodeBase64(encoded) ?? new Uint8Array()));
  return logins.ok ? logins : err(`its ${kind.key} ${logins.error}`);
}

function parseDockerConfigJson(text: string): Result<readonly RegistryLogin[], string> {
  const root = parseObject(text);
  if (root === undefined) return err("is not a JSON object");
  const auths = fieldOf(root, "auths");
  if (auths === undefined || auths === null) return ok([]);
  return isObject(auths) ? entries(auths) : err("has auths that are not an object");
}

function parseDockerCfg(text: string): Result<readonly RegistryLogin[], string> {
  const root = parseObject(text);
  return root === undefined ? err("is not a JSON object") : entries(root);
}

type JsonObject = Readonly<Record<string, unknown>>;

function entries(auths: JsonObject): Result<readonly RegistryLogin[], string> {
  const logins: RegistryLogin[] = [];
  for (const [address, entry] of Object.entries(auths)) {
    const login = parseLogin(entry ?? {});
    if (!login.ok) return err(`has an entry for "${address}" ${login.error}`);
    logins.push({ address, ...login.value });
  }
  return ok(logins);
}

function parseLogin(entry: unknown): Result<Omit<RegistryLogin, "address">, string> {
  if (!isObject(entry)) return err("that is not an object");
  const text = (name: string): string | undefined => {
    const value = fieldOf(entry, name) ?? "";
    return typeof value === "string" ? value : undefined;
  };
  const [username, password, auth] = [text("username"), text("password"), text("auth")];
  if (username === undefined || password === undefined || auth === undefined) {
    return err("whose username, password or auth is not a string");
  }
  const email = text("email") || undefined;
  if (auth === "") return ok({ username, password, email });
  const decoded = decodeAuth(auth);
  const colon = decoded?.indexOf(":") ?? -1;
  if (decoded === undefined || colon < 0) {
    return err("whose auth is not base64 of username:password");
  }
  return ok({ username: decoded.slice(0, colon), password: decoded.slice(colon + 1), email });
}

/** Padding may be left out altogether. */
function decodeAuth(auth: string): string | undefined {
  const compact = auth.replace(/[\r\n]/g, "");
  const padding = compact.endsWith("=") ? "" : "=".repeat((4 - (compact.length % 4)) % 4);
  const bytes = padding.length === 3 ? undefined : decodeBase64(compact + padding);
  return bytes === undefined ? undefined : decodeUtf8(bytes);
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = parseJsonText(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Docker's files spell their fields with any case. */
function fieldOf(object: JsonObject, name: string): unknown {
  const key =
    Object.keys(object).find((each) => each === name) ??
    Object.keys(object).find((each) => each.toLowerCase() === name);
  return key === undefined ? undefined : object[key];
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
