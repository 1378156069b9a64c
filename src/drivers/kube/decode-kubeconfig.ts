import { decodeBase64 } from "../../lib/base64.ts";
import { joinPath } from "../../lib/path.ts";
import { err, ok } from "../../lib/result.ts";
import { decodeUtf8 } from "../../lib/utf8.ts";
import { FieldProblem, FieldReader } from "./field-reader.ts";
import type {
  DecodedKubeconfig,
  ExecPlugin,
  Impersonation,
  KubeCluster,
  Kubeconfig,
  KubeUser,
  PemSource,
} from "./kubeconfig.ts";

const execVersions: ReadonlySet<string> = new Set([
  "client.authentication.k8s.io/v1",
  "client.authentication.k8s.io/v1beta1",
]);
const execExtension = "client.authentication.k8s.io/exec";

/** The current context of a kubeconfig that is given as plain data; `folder` is the file's, for relative paths. */
export function decodeKubeconfig(value: unknown, folder: string): DecodedKubeconfig {
  try {
    return ok(decode(new FieldReader(value, ""), folder));
  } catch (problem) {
    if (problem instanceof FieldProblem) return err(problem.message);
    throw problem;
  }
}

function decode(root: FieldReader, folder: string): Kubeconfig {
  const contextName = root.text("current-context");
  if (contextName === "") throw new FieldProblem("current-context is not set");
  const context = named(root, "contexts", "context", contextName);
  const clusterName = requiredText(context, "cluster");
  const userName = requiredText(context, "user");
  return {
    cluster: decodeCluster(named(root, "clusters", "cluster", clusterName), folder),
    user: decodeUser(named(root, "users", "user", userName), folder),
  };
}

function named(root: FieldReader, list: string, field: string, name: string): FieldReader {
  const found = root.items(list).filter((item) => item.text("name") === name);
  const [item] = found;
  if (item === undefined) throw new FieldProblem(`${list} has none that is named "${name}"`);
  if (found.length > 1) throw new FieldProblem(`${list} has more than one that is named "${name}"`);
  return item.object(field);
}

function requiredText(reader: FieldReader, field: string): string {
  const text = reader.text(field);
  if (text === "") throw new FieldProblem(`${reader.pathOf(field)} is not set`);
  return text;
}

function decodeCluster(cluster: FieldReader, folder: string): KubeCluster {
  refuse(cluster, "proxy-url", "Berth connects to the API server directly");
  const tlsServerName = cluster.text("tls-server-name");
  const skipVerification = cluster.flag("insecure-skip-tls-verify");
  const authority = pemSource(cluster, "certificate-authority", folder);
  if (skipVerification && authority !== undefined) {
    throw new FieldProblem(
      `${cluster.pathOf("insecure-skip-tls-verify")} is set beside a certificate authority: remove one of them`,
    );
  }
  const extension = cluster.items("extensions").find((item) => item.text("name") === execExtension);
  return {
    server: requiredText(cluster, "server"),
    ...(tlsServerName === "" ? {} : { tlsServerName }),
    skipVerification,
    ...(authority === undefined ? {} : { authority }),
    ...(extension === undefined ? {} : { execConfig: extension.value("extension") }),
  };
}

function decodeUser(user: FieldReader, folder: string): KubeUser {
  refuse(user, "auth-provider", "use an exec plugin, a token or a client certificate");
  const cert = pemSource(user, "client-certificate", folder);
  const key = pemSource(user, "client-key", folder);
  if (cert !== undefined && key === undefined) {
    throw new FieldProblem(
      `${user.pathOf("client-key")} is not set, and client-certificate needs it`,
    );
  }
  const token = user.text("token");
  const tokenFile = user.text("tokenFile");
  const username = user.text("username");
  const password = user.text("password");
  const hasBasic = username !== "" || password !== "";
  if (token !== "" && hasBasic) {
    throw new FieldProblem(
      `${user.pathOf("token")} is set beside a username: only one can be used`,
    );
  }
  return {
    ...(cert === undefined || key === undefined ? {} : { certificate: { cert, key } }),
    ...(token === "" ? {} : { token }),
    ...(tokenFile === "" ? {} : { tokenFile: absolute(tokenFile, folder) }),
    ...(hasBasic ? { basic: { username, password } } : {}),
    ...(user.has("exec") ? { exec: decodeExec(user.object("exec"), folder) } : {}),
    ...decodeImpersonation(user),
  };
}

function decodeExec(exec: FieldReader, folder: string): ExecPlugin {
  const command = requiredText(exec, "command");
  const apiVersion = requiredText(exec, "apiVersion");
  if (!execVersions.has(apiVersion)) {
    throw new FieldProblem(
      `${exec.pathOf("apiVersion")} is "${apiVersion}": it can be ${[...execVersions].join(" or ")}`,
    );
  }
  const mode = exec.text("interactiveMode");
  const isOptional = apiVersion.endsWith("v1beta1");
  if (mode === "Always") {
    throw new FieldProblem(
      `${exec.pathOf("interactiveMode")} is Always, but a node has no terminal`,
    );
  }
  if (mode !== "Never" && mode !== "IfAvailable" && !(mode === "" && isOptional)) {
    throw new FieldProblem(`${exec.pathOf("interactiveMode")} is "${mode}": use Never`);
  }
  const env = exec
    .items("env")
    .map((item) => [requiredText(item, "name"), item.text("value")] as const);
  return {
    apiVersion,
    command: command.includes("/") ? absolute(command, folder) : command,
    args: exec.texts("args"),
    env: Object.fromEntries(env),
    provideClusterInfo: exec.flag("provideClusterInfo"),
    installHint: exec.text("installHint"),
  };
}

function decodeImpersonation(user: FieldReader): { readonly impersonation?: Impersonation } {
  const name = user.text("as");
  const uid = user.text("as-uid");
  const groups = user.texts("as-groups");
  const extra = user.textLists("as-user-extra");
  if (name !== "") return { impersonation: { user: name, uid, groups, extra } };
  if (uid !== "" || groups.length > 0 || Object.keys(extra).length > 0) {
    throw new FieldProblem(
      `${user.pathOf("as")} is not set, and as-uid, as-groups and as-user-extra need it`,
    );
  }
  return {};
}

function pemSource(reader: FieldReader, field: string, folder: string): PemSource | undefined {
  const path = reader.text(field);
  const encoded = reader.text(`${field}-data`);
  if (path !== "" && encoded !== "") {
    throw new FieldProblem(
      `${reader.pathOf(field)} is set beside ${field}-data: remove one of them`,
    );
  }
  if (path !== "") return { kind: "file", path: absolute(path, folder) };
  if (encoded === "") return undefined;
  const bytes = decodeBase64(encoded);
  if (bytes === undefined) {
    throw new FieldProblem(`${reader.pathOf(`${field}-data`)} is not base64`);
  }
  return { kind: "data", pem: decodeUtf8(bytes) };
}

function refuse(reader: FieldReader, field: string, advice: string): void {
  if (!reader.has(field)) return;
  throw new FieldProblem(`${reader.pathOf(field)} is not supported: ${advice}`);
}

function absolute(path: string, folder: string): string {
  return path.startsWith("/") ? path : joinPath(folder, path);
}
