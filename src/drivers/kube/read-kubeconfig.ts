import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { type JsonNode, nodeText } from "../../lib/json-node.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import type { Result } from "../../lib/result.ts";
import type { ApiEndpoint } from "./connection-pool.ts";
import { decodeKubeconfig } from "./decode-kubeconfig.ts";
import { parseCertificates } from "./key-pair-files.ts";
import type { Kubeconfig } from "./kubeconfig.ts";
import { readSource } from "./kubeconfig-identity.ts";

/** What parses YAML. */
export type YamlParser = (text: string) => Result<JsonNode, { readonly message: string }>;

/** A kubeconfig's current context. Throws an error that names the file and the field. */
export function readKubeconfig(path: string, parseYaml: YamlParser): Kubeconfig {
  const file = resolve(path);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`cannot read the kubeconfig ${file} (${errorText(error)})`, { cause: error });
  }
  const parsed = parseYaml(text);
  if (!parsed.ok) throw new Error(`the kubeconfig ${file} is not YAML: ${parsed.error.message}`);
  const decoded = decodeKubeconfig(parseJsonText(nodeText(parsed.value)), dirname(file));
  if (!decoded.ok) throw new Error(`the kubeconfig ${file}: ${decoded.error}`);
  return decoded.value;
}

/** Where a kubeconfig's API server is. Throws an error that names what is wrong. */
export function endpointOf({ cluster, user }: Kubeconfig): ApiEndpoint {
  const { server, authority, skipVerification, tlsServerName } = cluster;
  const isSecure = authority !== undefined || skipVerification || user.certificate !== undefined;
  const text = server.includes("://") ? server : `${isSecure ? "https" : "http"}://${server}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new Error(`the cluster's server "${server}" is not an http or https URL`);
  }
  const caPem = authority === undefined ? undefined : readSource(authority);
  if (caPem !== undefined) checkAuthority(caPem, authority?.kind === "file" ? authority.path : "");
  return {
    url,
    skipVerification,
    ...(caPem === undefined ? {} : { caPem }),
    ...(tlsServerName === undefined ? {} : { serverName: tlsServerName }),
  };
}

function checkAuthority(caPem: string, path: string): void {
  try {
    parseCertificates(caPem);
  } catch (error) {
    const where = path === "" ? "certificate-authority-data" : `certificate-authority ${path}`;
    throw new Error(`the cluster's ${where} cannot be used: ${errorText(error)}`, { cause: error });
  }
}
