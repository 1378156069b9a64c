import type { RegistryLogin } from "./docker-config.ts";
import { matchesRegistry, splitAddress } from "./registry-pattern.ts";

const defaultRegistry = "index.docker.io";

/** The logins that fit a repository, those for the longest addresses first. */
export function findLogins<Login extends RegistryLogin>(
  logins: readonly Login[],
  repository: string,
): readonly Login[] {
  const byPlace = new Map<string, Login[]>();
  for (const login of logins) {
    const place = placeOf(login.address);
    if (place === undefined) continue;
    const found = byPlace.get(place);
    if (found === undefined) byPlace.set(place, [login]);
    else found.push(login);
  }
  const places = [...byPlace.keys()].toSorted((a, b) => (a < b ? 1 : -1));
  const found = places
    .filter((place) => matchesRegistry(place, repository))
    .flatMap((place) => byPlace.get(place) ?? []);
  if (found.length > 0 || !isOfDefaultRegistry(repository)) return found;
  return byPlace.get(defaultRegistry) ?? [];
}

/** Host and path of an address; Docker writes the API's version after the host of some, which means nothing. */
function placeOf(address: string): string | undefined {
  const parts = splitAddress(address.replace(/^https?:\/\//, ""));
  if (parts === undefined) return undefined;
  const path = parts.path.replace(/^\/v[12]\//, "/");
  return path === "/" ? parts.host : parts.host + path;
}

function isOfDefaultRegistry(repository: string): boolean {
  const [first = "", ...rest] = repository.split("/");
  if (first === "") return false;
  return (
    rest.length === 0 || first === "docker.io" || first === defaultRegistry || !/[.:]/.test(first)
  );
}
