import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { type JsonNode, nodeText } from "../../lib/json-node.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import type { Result } from "../../lib/result.ts";
import type { Log } from "../../ports/log.ts";
import { ChangingAuthority } from "./changing-authority.ts";
import type { ApiEndpoint } from "./connection-pool.ts";
import { decodeKubeconfig } from "./decode-kubeconfig.ts";
import { parseCertificates } from "./key-pair-files.ts";
import type { Kubeconfig, PemSource } from "./kubeconfig.ts";

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
export function endpointOf({ cluster, user }: Kubeconfig, log: Log): ApiEndpoint {
  const { server, authority, skipVerification, tlsServerName } = cluster;
  const isSecure = authority !== undefined || skipVerification || user.certificate !== undefined;
  const text = server.includes("://") ? server : `${isSecure ? "https" : "http"}://${server}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new Error(`the cluster's server "${server}" is not an http or https URL`);
  }
  return {
    url,
    skipVerification,
    ...(authority === undefined ? {} : authoritiesOf(authority, log)),
    ...(tlsServerName === undefined ? {} : { serverName: tlsServerName }),
  };
}

function authoritiesOf(authority: PemSource, log: Log): Pick<ApiEndpoint, "caPem" | "changingCa"> {
  try {
    if (authority.kind === "file") {
      const changingCa = new ChangingAuthority(authority.path, log);
      return { caPem: changingCa.current(), changingCa };
    }
    parseCertificates(authority.pem);
    return { caPem: authority.pem };
  } catch (error) {
    const { kind } = authority;
    const where =
      kind === "data" ? "certificate-authority-data" : `certificate-authority ${authority.path}`;
    throw new Error(`the cluster's ${where} cannot be used: ${errorText(error)}`, { cause: error });
  }
}
