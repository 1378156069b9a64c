/** A path of the Kubernetes API taken apart; what it does not name is empty. */
export interface ApiPath {
  readonly group: string;
  readonly groupVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
  /** Identifies collections of one kind, whatever the namespace. */
  readonly collection: string;
}

export function parseApiPath(path: string): ApiPath {
  const [root = "", ...rest] = path
    .split("/")
    .filter((part) => part !== "")
    .map(decodeURIComponent);
  const isCore = root === "api";
  if (!isCore && root !== "apis") throw new Error(`not a path of the API: ${path}`);
  const groupVersion = rest.slice(0, isCore ? 1 : 2).join("/");
  const below = rest.slice(isCore ? 1 : 2);
  const isNamespaced = below[0] === "namespaces" && below.length > 2;
  const namespace = isNamespaced ? (below[1] ?? "") : "";
  const [resource = "", name = "", ...subresource] = isNamespaced ? below.slice(2) : below;
  return {
    group: isCore ? "" : (rest[0] ?? ""),
    groupVersion,
    namespace,
    resource,
    name,
    subresource: subresource.join("/"),
    collection: `${groupVersion}/${resource}`,
  };
}
