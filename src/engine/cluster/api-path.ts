/** Paths of the API server's resources; every name is encoded. */
export function podPath(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  subresource?: string,
): string {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

export function podsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
}
